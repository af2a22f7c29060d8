"""Words that say little or nothing about what is meant: function words, acknowledgements, and the verbs with which one asks."""

from __future__ import annotations

_ENGLISH = """
a able about above actually after again agree agreed all alright also am an and any anybody anyone anything anyway are aren't as at away awesome back
be because been before being below between bit both but by bye came can can't come continue cool correct could couldn't d did didn't do does doesn't
doing don't done down during each either else especially ever every exactly false few fine first for from further get gets getting go goes going gone
good goodbye got great had hadn't has hasn't have haven't having he hello her here hers herself hey hi him himself his hm hmm how however i if in
instead into is isn't it its itself just kindly last let ll look looked looking looks lot lots m main many may maybe me might mine more most much must
my myself neither next nice no no-one nope nor not now of off often ok okay on once one only onto or other our ours out over own people per perfect
perhaps person persons please proceed quite rather re really right s same see seen shall she should so some somebody someone something soon sorry
start still stop stuff such sure t than thank thanks that the their theirs them themselves then there these they thing things this those though
through thx to too toward true try under until up upon us ve very wait was wasn't we welcome well went were weren't what whatever when where whether
which while who whom whose why will with within without won't would wouldn't wow yeah yep yes yet you your yours yourself yup
"""

_ASKING = """
answer ask asked asking call called describe explain find give given kind kinds know known like list made make makes mentioned name named names need
question recall remember remembered remind said say says show sort take talked tell told took type types use used using want wanted work worked
working works
"""

_CJK = """
什么 怎么 怎样 为什么 哪个 哪些 哪里 哪种 多少 是不是 可以 能不能 我们 你们 他们 她们 它们 这个 那个 这些 那些 请问 告诉 一下
一个 没有 现在 然后 因为 所以 但是 如果 就是 还是 或者 谢谢 你好 您好 好的 继续 知道 记得 记住 之前 以前 帮我 请你 请 吗 呢
吧 啊 的 了 是 我 你 他 她 它 在 和 有 这 那 谁 把 被 用 对 就 都 也 还 很 不 要 会 能 去 来 说 给 与 及 或 从 到
为 以 于 让 做 好 嗯
"""

ENGLISH = frozenset(_ENGLISH.split())
ASKING = frozenset(_ASKING.split())
"""Words with which one asks, gives orders or speaks of oneself: they tell little, but of ``What is my name?`` they are all."""

CJK = tuple(sorted(_CJK.split(), key=len, reverse=True))
"""Chinese words of asking, longest first: a run of characters is split where one stands."""
