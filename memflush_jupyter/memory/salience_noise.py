"""What is not worth keeping: questions, requests for now, chatter, and what an agent says around its findings.

English and Chinese. Each pattern is one sign; the order of their use stands with the judges.
"""

from __future__ import annotations

import re

_I = re.IGNORECASE

QUESTION_START = re.compile(
    r"^(?:(?:and|so|but|also|then|ok(?:ay)?|hmm+|well|now)[,]?\s+)*(?:(?:what|how|why|where|when|who|whom|whose|which)(?:'s|'re)?\s+(?:is|are|was|were|do|"
    r"does|did|can|could|should|would|will|has|have|had|many|much|about|come|if|else|kind|sort|type|of)\b"
    r"|(?:what|how|why|who|whose|which|where)\b(?!.*[.!]$)|(?:what's|how's|who's|where's)\b"
    r"|(?:is|are|was|were|do|does|did|can|could|should|would|has|have|had|am|isn't|aren't|doesn't|don't you|didn't|can't|couldn't|shouldn't|"
    r"wouldn't)\s+(?:the|a|an|this|that|these|those|there|it|they|you|we|i|he|she|any|all|some|my|our|your|everyone|anyone|one)\b"
    r"|will\s+(?:the|a|this|that|these|those|there|it|they|you|we|i|he|she|any)\b|any (?:idea|chance|thoughts)\b|i wonder\b|i(?:'m| am) (?:wondering|"
    r"curious)\b|do you\b|(?:tell|remind) me\b)",
    _I,
)
QUESTION_ZH = re.compile(
    r"[？?]\s*[”’」)]*$|(?:吗|呢|么)[。.!！]*$|什么(?!时候都|都)|怎么(?!样都)|为什么|为何|哪(?:个|些|里|儿|种|一)|多少|几(?:个|种|行|列|条)|是不是|能不能|可不可以|有没有|如何|是否|谁(?!都)"
)
NOT_QUESTION_ZH = re.compile(r"表示|代表|不管|无论|取决于|记录|说明了|描述|标记|必须|不要|不能|几个月|几天|没什么")
CHATTER = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yep|yeah|yup|no|nope|sure|right|fine|great|good|nice|cool|perfect|awesome|excellent|wow|thanks?|thank you|thx|cheers|hi|hello|"
    r"hey|bye|goodbye|welcome|please|sorry|hmm+|oh|ah|lol|haha|got it|sounds good|looks good|"
    r"well done|never ?mind|no problem|no worries|of course|absolutely|exactly|indeed|interesting|go on|go ahead|continue|carry on|proceed|do it|same here|"
    r"good (?:morning|afternoon|evening|night|job|work)|see you|talk soon|one moment|hold on|wait|"
    r"again|very|much|so|a lot|for (?:that|this|the help|your help|now)|there|then|all|everyone|claude|agent|that|it|works|helps?|makes sense|is|"
    r"'s)\b[\s,.!;:)(-]*)+$",
    _I,
)
CHATTER_START = re.compile(
    r"^(?:(?:hm+|oh|ah|um+|uh|wow|well|ok(?:ay)?)\b[,!. ]*)?(?:thanks?\b|thank you|many thanks|cheers\b|you(?:'re| are) (?:right|welcome|great|awesome|"
    r"the best|amazing)|(?:that|this|it|these|those|they)(?:'s|"
    r"'re| is| are| was| were| looks?| seems?| sounds?| works?| worked| helps?| makes?)\s+(?!important|crucial|essential|best to|better to)(?:\w+\s+){0,2}?"
    r"(?:great|good|nice|fine|perfect|awesome|cool|wonderful|lovely|helpful|useful|interesting|weird|strange|odd|ok|okay|better|amazing|wrong|right|"
    r"correct|sense|it|all|enough|well|beautiful|ugly|confusing|clear|not what i|exactly what i|what i)\b|"
    r"i(?:'m| am) (?:not sure|sorry|confused|happy|glad|back|done|ready|going to (?:grab|get|take|have|go)|curious|impressed|off|hungry|tired|here|"
    r"listening|excited|looking forward)|i (?:see|understand|get it|got it|agree|don'?t (?:know|understand|get|see|care|mind|remember)|hope|appreciate|"
    r"love it|guess|"
    r"forgot|have (?:a|another|one more|some) (?:question|request|doubt|idea|task)|was (?:just )?wondering|can'?t (?:see|tell|find)|(?:just )?(?:wanted|"
    r"want|need|would like|'d like) to (?:know|ask|see|check|say|understand))\b|"
    r"(?:good|great|nice|excellent|amazing|well) (?:job|work|done|stuff|idea|point|catch|question|plot|one|to (?:know|hear|see))|let me (?:know|see|think|"
    r"check|look)|give me a (?:sec|second|minute|moment)|(?:talk|speak|see) (?:to )?you|have a (?:nice|good|great)|"
    r"i was (?:away|out|busy|wrong|late|just|at lunch|thinking|distracted)\b|no(?: need)?(?: to)? (?:worry|worries|rush|problem|hurry)|don'?t worry|"
    r"take your time|how are you|hope (?:you|this|that)|sorry (?:for|about|to)|brb|"
    r"back in|be right back|hang on|one sec|we(?:'re| are) (?:done|good|almost|getting|making)|hello|hi\b|hey\b|good (?:morning|afternoon|evening))",
    _I,
)
CHATTER_ZH = re.compile(
    r"^(?:好的?|嗯+|哦|谢谢.{0,6}|多谢.{0,4}|感谢.{0,8}|不错|很好|太好了|太棒了|可以了?|行|没问题|明白了?|知道了|收到|你好.{0,4}|您好.{0,4}|再见|辛苦了?|对的?|是的|没错|继续|厉害|哈+|真棒|挺好的?|看起来不错|有意思|等一下|稍等|"
    r"我看看|我想想|我先.{0,8}|原来如此|抱歉.{0,6}|不好意思.{0,6}|先这样.{0,3}|就这[么样].{0,3}|(?:这|那)个?[图表].{0,8}|早上好|晚上好|下午好|晚安|我懂了|我不太?(?:懂|明白|确定|清楚).{0,8}|[，,。.!！~～、\s])++$"
)
REQUEST_VERBS = frozenset(
    [
        *("plot", "show", "load", "compute", "calculate", "calc", "find", "give", "make", "create", "run", "drop", "remove", "fit", "train"),
        *("print", "explain", "list", "tell", "check", "compare", "draw", "display", "read", "open", "import", "export", "save", "write"),
        *("build", "add", "try", "redo", "repeat", "rerun", "restart", "use", "look", "see", "describe", "summarise", "summarize", "analyse"),
        *("analyze", "investigate", "inspect", "explore", "examine", "visualise", "visualize", "count", "group", "sort", "filter", "merge"),
        *("join", "pivot", "rename", "convert", "change", "set", "update", "fix", "replace", "split", "select", "pick", "choose", "get"),
        *("fetch", "download", "install", "generate", "produce", "sketch", "colour", "color", "label", "rotate", "zoom", "clean", "normalise"),
        *("normalize", "standardise", "standardize", "scale", "test", "estimate", "predict", "cluster", "classify", "regress", "correlate"),
        *("bin", "aggregate", "average", "sum", "rank", "sample", "reshape", "transpose", "melt", "encode", "impute", "fill", "delete"),
        *("undo", "reset", "stop", "continue", "proceed", "start", "begin", "finish", "go", "do", "answer", "help", "search", "query"),
        *("report", "include", "exclude", "highlight", "annotate", "overlay", "increase", "decrease", "reduce", "extend", "limit", "round"),
        *("format", "tidy", "refactor", "debug", "profile", "benchmark", "verify", "confirm", "validate", "ignore", "skip", "forget"),
        *("review", "walk", "provide", "suggest", "propose", "recommend", "outline", "state", "name", "identify", "determine", "evaluate"),
        *("assess", "quantify", "measure", "extract", "parse", "tabulate", "break", "combine", "apply", "let", "put", "move", "turn"),
        *("switch", "take", "keep", "bring", "call", "retry", "execute", "translate", "rewrite", "shorten", "simplify", "expand", "elaborate"),
        *("clarify", "think", "consider", "imagine"),
    ]
)
REQUEST_LEAD = re.compile(
    r"^(?:(?:please|now|then|next|first|second|third|finally|also|and|so|but|ok(?:ay)?|great|thanks|cool|nice|good|well|perfect|after that|afterwards|hey|"
    r"hi|instead|again|just|maybe|alright|right|"
    r"actually|once more|lastly|additionally|quickly|kindly|for now|this time|in addition|to start|to begin|as a next step|before that|yes|no|sure|"
    r"hmm+)[,.!:]?\s+)*",
    _I,
)
REQUEST_PHRASE = re.compile(
    r"(?:(?:can|could|would|will) (?:you|we)\b|(?:i(?:'d| would)?|we(?:'d| would)?) (?:just )?(?:want|need|like|love|wish)(?: you)?(?: to)? (?:see|know|"
    r"have|get|look|plot|compute|check|find|understand|run|make|do|try|compare|explore|ask|go|start|you|show|load|be able|add|draw|a |an |another|"
    r"the (?:plot|table|list|code|figure|chart|graph|mean|median|number|same))|"
    r"let'?s\b|let us\b|how about\b|what about\b|time to\b|your (?:task|job) is\b|we (?:should|could|can|need to|have to) (?:now |also |then |"
    r"next )?(?:look|plot|check|see|compute|try|start|compare|run|explore|move|go|continue|make|investigate)\b|(?:i|we)(?:'ll| will| am going to|"
    r"'m going to|'re going to| are going to) (?:now|first|next|then|start|begin|look|check|try|go|see|take|come|grab|wait|think)\b)",
    _I,
)
REQUEST_ZH = re.compile(
    r"^(?:请|麻烦|现在|然后|接着|接下来|首先|先|再|最后|那|好的?|另外|还有|顺便|你|您|帮我|帮忙|给我|替我|可以|能|能否|我想|我要|我需要|让我们|我们|，|,|、|：|\s|一下|也|都|来|去){0,8}+"
    r"(?:(?:把|用|对|按|将|从)[^，。；]{1,20}?)?[，,]?(?:再|来|中)?"
    r"(?:画|绘制|加载|读取|导入|载入|计算|求出?|显示|展示|看|列出|分析|比较|对比|检查|运行|执行|生成|创建|写|做(?:个|一)|统计|筛选|过滤|排序|拟合|训练|预测|打印|解释|总结|告诉|试|查|找"
    r"|给出|保存|删除|去掉|合并|导出|打开|继续|重新|描述|可视化|转换|改成|换成|添加|加上|翻译|演示|介绍|说明一下|算一?下|放大|缩小|调整|分组|汇总)"
)
URGED_ZH = re.compile(r"^把|吧[。！!]?$")
NOT_REQUEST_ZH = re.compile(
    r"^(?:分析|计算|统计|检查|比较|预测|拟合)(?:结果|显示|表明|发现|得出)|结果(?:是|为|显示|表明)|我们?(?:决定|选择|约定|已经)|必须|不得|禁止|不能|不要|所有|统一"
)
AGENT_NOISE = re.compile(
    r"^(?:\W*)(?:(?:now|next|first|second|then|ok(?:ay)?|sure|great|alright|good|perfect|certainly|of course|to do (?:this|that|so)|after that|"
    r"finally)[,.!]?\s+)*(?:i(?:'ll| will|'m going to| am going to|'d| would| can| could| need to| should| want to| plan to|'m (?:now|about)| am (?:now|"
    r"about))\b|let me\b|let's\b|let us\b|we(?:'ll| will| can| could| should| need to)\b|would you\b|do you\b|shall i\b|should i\b|"
    r"if you(?:'d| would)? (?:like|want|need|prefer|wish)|feel free|here(?:'s| is| are)\b|below\b|the (?:following|code|cell|plot|figure|chart|"
    r"table) (?:below|above|shows you|uses|will|creates|computes)|you can\b|you could\b|you may\b|you might\b|please\b|thanks?\b|thank you|happy to|"
    r"glad to|sorry\b|i apologi[sz]e|i hope|hope this|let me know|step \d|starting\b|loading\b|running\b|checking\b|"
    r"looking at\b.*:$|to \w+ (?:this|that|it|your question)\b[^,]*, (?:i|we)\b|as (?:you can see|an ai|requested)|welcome\b|you're\b|great\b|done\b|ok\b|"
    r"noted\b|understood\b|got it)"
    r"|^(?:好的|接下来|现在|下面|首先|让我|我将|我会|"
    r"我来|我可以|请|如果(?:你|您)|需要我|是否需要|以下是|下面是|这里是|希望|抱歉|很高兴|没问题)",
    _I,
)
REFUSAL = re.compile(
    r"^\W*(?:(?:sorry|unfortunately)\W+)?i (?:cannot|can'?t|do not|don'?t) (?:do|help|answer|understand|know|guess)\b|, and i do not guess\b",
    _I,
)
"""The agent says what it cannot do: no fact about the work."""
NOT_RUN = re.compile(r"\b(?:code|cell|it) (?:was|has) not (?:been )?(?:run|executed|approved)\b|\bwas not approved\b", _I)
"""Code that is shown because it did not run makes no names."""
OFFER = re.compile(r"\b(?:i|you|we) (?:can|could|might)(?: (?:also|now|next|then|do|try|help(?: you)?(?: with)?))*\s*[:：]$", _I)
"""A line such as "I can:": the bullets after it are abilities or choices, not findings."""
INSTRUCTION = re.compile(
    r"\b(?:ignore (?:all |any |the )?(?:previous|prior|above)|system prompt|you are (?:now )?an? (?:ai|assistant|language model)|as an ai|jailbreak|"
    r"disregard)\b|忽略(?:之前|以上|前面)",
    _I,
)
DIGIT_NOISE = re.compile(
    r"^(?:step|figure|fig\.|table|cell|section|part|option|example|chapter|page|item|point|task|question|q|no\.?|#)\s*\d+\b|\bhere (?:are|is)\b|\b(?:first|"
    r"last|top) \d+ rows\b(?: (?:of|look|are|below))?",
    _I,
)
