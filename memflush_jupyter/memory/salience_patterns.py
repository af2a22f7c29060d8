"""The signs by which the floor tells what is worth keeping, in English and Chinese.

Each pattern is one sign. Their order of use stands in ``salience``; none of them knows where it is used.
"""

from __future__ import annotations

import re

_I = re.IGNORECASE


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- asked to remember -------------------------------------------------------------------------------------------

REMEMBER = re.compile(
    r"^(?:(?:can|could|would|will) you\s+(?:please\s+)?|please[,]?\s+|i(?:'d| would) like you to\s+|i want you to\s+|(?:you (?:should|must)|make sure (?:you|to)|be sure to)\s+|do\s+|always\s+|just\s+|also[,]?\s+)*"
    r"(?:remember|memori[sz]e|keep (?:it )?in mind|bear in mind|note|take note|make a note|don'?t (?:ever )?forget|never forget|save (?:this|that|it)? ?(?:to|in) (?:your )?memory|add (?:this|that|it)? ?to (?:your )?memory|"
    r"note to self|for (?:the|your) (?:record|reference|information)|fyi|write (?:this|that|it) down|jot (?:this|that|it) down|store (?:this|that))\b"
    r"(?:\s+(?:this|that|the following|it|for (?:later|next time|future|the future)|somewhere|down|as well|too|of (?:this|that)|of the fact))*\s*(?:[:,;–—-]+\s*|\s+that\s+|\s+to\s+(?=\w)|\s+|[.!]*$)"
    r"(?:that\s+)?",
    _I,
)
REMEMBER_ZH = re.compile(
    r"^(?:请|麻烦|你|您|要|帮我|务必|一定要?|都|也|，|,|\s)*(?:记住|记得|牢记|记一下|记下来?|记录一下|别忘了?|不要忘记|不要忘了|备忘|备注|存到记忆里?|写进记忆|注意)(?:这一点|这点|这个|一下|了|下)?\s*[：:，,、。.!！]*\s*"
)
REMEMBER_TAIL = re.compile(
    r"[\s,;.–—-]+(?:so\s+|and\s+)?(?:please\s+)?(?:remember|keep in mind|don'?t forget|note|memori[sz]e|write down|save)\s+(?:this|that|it)(?:\s+(?:for (?:later|next time|future)|please|down|in mind))?[.!]*$|[，,。\s]*(?:请|要|务必)?(?:记住(?:这一?点|这个|它|了|哦)?|记下来|别忘了)[。！!.]*$",
    _I,
)
ONLY_POINTER = re.compile(r"^(?:this|that|it|these|those|the above|all (?:of )?(?:this|that)|everything|这一?点|这个|以上|上面的?|它)?[\s.!。！,，]*$", _I)
FROM_NOW_ON = re.compile(
    r"\b(?:from now on|from here on|from this point|going forward|in (?:the )?future\b(?!\w)|for all (?:future|later|the remaining|further)|henceforth|by default|every time|each time|whenever (?:you|i|we))\b"
    r"|(?:以后|今后|从现在起|从今以后|从现在开始|往后|下次|每次|一律|默认)",
    _I,
)
EMBEDDED = re.compile(
    r"(?:[,;:–—]\s*|\s+)(?:and|but|also|so|then)?[,]?\s*(?=(?:please\s+)?(?:remember (?:that|to)|keep in mind|from now on|going forward|note that|don'?t forget)\b)|[，；;]\s*(?=(?:请|并|另外|而且|但)?(?:记住|以后|今后|从现在起|注意))|(?:[,;]\s*|\s+)(?:and|but)\s+(?=(?:always|never)\b)",
    _I,
)

# --- what is not worth keeping ------------------------------------------------------------------------------------

QUESTION_START = re.compile(
    r"^(?:(?:and|so|but|also|then|ok(?:ay)?|hmm+|well|now)[,]?\s+)*(?:(?:what|how|why|where|when|who|whom|whose|which)(?:'s|'re)?\s+(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|had|many|much|about|come|if|else|kind|sort|type|of)\b"
    r"|(?:what|how|why|who|whose|which|where)\b(?!.*[.!]$)|(?:what's|how's|who's|where's)\b"
    r"|(?:is|are|was|were|do|does|did|can|could|should|would|has|have|had|am|isn't|aren't|doesn't|don't you|didn't|can't|couldn't|shouldn't|wouldn't)\s+(?:the|a|an|this|that|these|those|there|it|they|you|we|i|he|she|any|all|some|my|our|your|everyone|anyone|one)\b"
    r"|will\s+(?:the|a|this|that|these|those|there|it|they|you|we|i|he|she|any)\b|any (?:idea|chance|thoughts)\b|i wonder\b|i(?:'m| am) (?:wondering|curious)\b|do you\b|(?:tell|remind) me\b)",
    _I,
)
QUESTION_ZH = re.compile(
    r"[？?]\s*[”’」)]*$|(?:吗|呢|么)[。.!！]*$|什么(?!时候都|都)|怎么(?!样都)|为什么|为何|哪(?:个|些|里|儿|种|一)|多少|几(?:个|种|行|列|条)|是不是|能不能|可不可以|有没有|如何|是否|谁(?!都)"
)
NOT_QUESTION_ZH = re.compile(r"表示|代表|不管|无论|取决于|记录|说明了|描述|标记|必须|不要|不能|几个月|几天|没什么")
CHATTER = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yep|yeah|yup|no|nope|sure|right|fine|great|good|nice|cool|perfect|awesome|excellent|wow|thanks?|thank you|thx|cheers|hi|hello|hey|bye|goodbye|welcome|please|sorry|hmm+|oh|ah|lol|haha|got it|sounds good|looks good|"
    r"well done|never ?mind|no problem|no worries|of course|absolutely|exactly|indeed|interesting|go on|go ahead|continue|carry on|proceed|do it|same here|good (?:morning|afternoon|evening|night|job|work)|see you|talk soon|one moment|hold on|wait|"
    r"again|very|much|so|a lot|for (?:that|this|the help|your help|now)|there|then|all|everyone|claude|agent|that|it|works|helps?|makes sense|is|'s)\b[\s,.!;:)(-]*)+$",
    _I,
)
CHATTER_START = re.compile(
    r"^(?:thanks?\b|thank you|many thanks|cheers\b|you(?:'re| are) (?:right|welcome|great|awesome|the best|amazing)|(?:that|this|it|these|those|they)(?:'s|'re| is| are| was| were| looks?| seems?| sounds?| works?| worked| helps?| makes?)\s+(?:\w+\s+){0,2}?"
    r"(?:great|good|nice|fine|perfect|awesome|cool|wonderful|lovely|helpful|useful|interesting|weird|strange|odd|ok|okay|better|amazing|wrong|right|correct|sense|it|all|enough|well|beautiful|ugly|confusing|clear|not what i|exactly what i|what i)\b|"
    r"i(?:'m| am) (?:not sure|sorry|confused|happy|glad|back|done|ready|going to (?:grab|get|take|have|go)|curious|impressed|off|hungry|tired|here|listening|excited|looking forward)|i (?:see|understand|get it|got it|agree|don'?t (?:know|understand|get|see|care|mind|remember)|hope|appreciate|love it|guess|"
    r"forgot|have (?:a|another|one more|some) (?:question|request|doubt|idea|task)|was (?:just )?wondering|can'?t (?:see|tell|find)|(?:just )?(?:wanted|want|need|would like|'d like) to (?:know|ask|see|check|say|understand))\b|"
    r"(?:good|great|nice|excellent|amazing|well) (?:job|work|done|stuff|idea|point|catch|question|plot|one|to (?:know|hear|see))|let me (?:know|see|think|check|look)|give me a (?:sec|second|minute|moment)|(?:talk|speak|see) (?:to )?you|have a (?:nice|good|great)|"
    r"no(?: need)?(?: to)? (?:worry|worries|rush|problem|hurry)|don'?t worry|take your time|how are you|hope (?:you|this|that)|sorry (?:for|about|to)|brb|back in|be right back|hang on|one sec|we(?:'re| are) (?:done|good|almost|getting|making)|hello|hi\b|hey\b|good (?:morning|afternoon|evening))",
    _I,
)
CHATTER_ZH = re.compile(
    r"^(?:好的?|嗯+|哦|谢谢.{0,6}|多谢.{0,4}|感谢.{0,8}|不错|很好|太好了|太棒了|可以了?|行|没问题|明白了?|知道了|收到|你好.{0,4}|您好.{0,4}|再见|辛苦了?|对的?|是的|没错|继续|厉害|哈+|真棒|挺好的?|看起来不错|有意思|等一下|稍等|我看看|我想想|我先.{0,8}|原来如此|抱歉.{0,6}|不好意思.{0,6}|早上好|晚上好|下午好|晚安|我懂了|我不太?(?:懂|明白|确定|清楚).{0,8}|[，,。.!！~～、\s])+$"
)
REQUEST_VERBS = _words(
    "plot show load compute calculate calc find give make create run drop remove fit train print explain list tell check compare draw display read open import export save write build "
    "add try redo repeat rerun restart use look see describe summarise summarize analyse analyze investigate inspect explore examine visualise visualize count group sort filter merge join pivot "
    "rename convert change set update fix replace split select pick choose get fetch download install generate produce sketch colour color label rotate zoom clean normalise normalize standardise standardize scale "
    "test estimate predict cluster classify regress correlate bin aggregate average sum rank sample reshape transpose melt encode impute fill delete undo reset stop continue proceed start begin finish go do "
    "answer help search query report include exclude highlight annotate overlay increase decrease reduce extend limit round format tidy refactor debug profile benchmark verify confirm validate "
    "ignore skip forget review walk provide suggest propose recommend outline state name identify determine evaluate assess quantify measure extract parse tabulate break combine apply let put move turn switch take keep bring call retry execute "
    "translate rewrite shorten simplify expand elaborate clarify think consider imagine"
)
REQUEST_LEAD = re.compile(
    r"^(?:(?:please|now|then|next|first|second|third|finally|also|and|so|but|ok(?:ay)?|great|thanks|cool|nice|good|well|perfect|after that|afterwards|hey|hi|instead|again|just|maybe|alright|right|"
    r"actually|once more|lastly|additionally|quickly|kindly|for now|this time|in addition|to start|to begin|as a next step|before that|yes|no|sure|hmm+)[,.!:]?\s+)*",
    _I,
)
REQUEST_PHRASE = re.compile(
    r"(?:(?:can|could|would|will) (?:you|we)\b|(?:i(?:'d| would)?|we(?:'d| would)?) (?:just )?(?:want|need|like|love|wish)(?: you)?(?: to)? (?:see|know|have|get|look|plot|compute|check|find|understand|run|make|do|try|compare|explore|ask|go|start|you|show|load|be able|add|draw|a |an |another|the (?:plot|table|list|code|figure|chart|graph|mean|median|number|same))|"
    r"let'?s\b|let us\b|how about\b|what about\b|time to\b|your (?:task|job) is\b|we (?:should|could|can|need to|have to) (?:now |also |then |next )?(?:look|plot|check|see|compute|try|start|compare|run|explore|move|go|continue|make|investigate)\b|(?:i|we)(?:'ll| will| am going to|'m going to|'re going to| are going to) (?:now|first|next|then|start|begin|look|check|try|go|see|take|come|grab|wait|think)\b)",
    _I,
)
REQUEST_ZH = re.compile(
    r"^(?:(?:请|麻烦|现在|然后|接着|接下来|首先|先|再|最后|那|好的?|另外|还有|顺便|你|您|帮我|帮忙|给我|替我|可以|能|能否|我想|我要|我需要|我们|让我们|把[^，。]{1,20}|用[^，。]{1,20}|对[^，。]{1,20}|按[^，。]{1,20}|将[^，。]{1,20}|从[^，。]{1,20}中?|，|,|、|：|\s|一下|也|都|来|去)*)"
    r"(?:画|绘制|加载|读取|导入|载入|计算|求出?|显示|展示|看看|看一下|看下|列出|分析|比较|对比|检查|运行|执行|生成|创建|写|做(?:个|一)|统计|筛选|过滤|排序|拟合|训练|预测|打印|解释|总结|告诉|试试|试一下|查找?|找出?|给出|保存|删除|去掉|合并|导出|打开|继续|重新|描述|可视化|转换|改成|换成|添加|加上|翻译|演示|介绍|说明一下|算一?下)"
)
NOT_REQUEST_ZH = re.compile(
    r"^(?:分析|计算|统计|检查|比较|预测|拟合)(?:结果|显示|表明|发现|得出)|结果(?:是|为|显示|表明)|我们?(?:决定|选择|约定|已经)|必须|不得|禁止|不能"
)

# --- decisions, preferences, constraints --------------------------------------------------------------------------

DECISION = re.compile(
    r"\b(?:(?:we|i|they|the team|[A-Z]\w+)(?:'ve| have| had)?\s+(?:all\s+|already\s+|just\s+|finally\s+|jointly\s+)?(?:decided|agreed|settled|chose|chosen|opted|concluded|committed|resolved|picked|selected|voted|approved|standardi[sz]ed)\b|"
    r"(?:we|i)(?:'ll| will|'re going to| are going to|'m going to| am going to)\s+(?:use|go with|keep|stick|drop|exclude|ignore|treat|adopt|report|take|skip|define|assume|work with|switch|publish|present|submit|call|store|focus|restrict|limit)\b|"
    r"(?:it (?:was|is|has been) (?:decided|agreed)|(?:the|our|my|final) (?:\w+ )?(?:decision|choice|verdict|plan|agreement|conclusion|consensus) (?:is|was)|decision\s*:|decided\s*:|agreed\s*:)|"
    r"let'?s (?:use|go with|keep|stick (?:with|to)|agree|settle|adopt|drop|exclude|ignore|treat|call|define|assume|leave out|standardi[sz]e|say)\b|(?:go|going|went) with\b.+\b(?:instead|rather|not|over|for)\b|(?:has|have|had) (?:been )?(?:decided|chosen|agreed)\b)"
    r"|决定|敲定|商定|约定|一致(?:同意|认为)|(?:我们|就|还是|最终|最后|统一|改)(?:都)?(?:采用|选用|选择|使用|用|选)(?!户|的|完|于)|定(?:为|在)|结论是|达成(?:共识|一致)|同意(?:用|采用|使用)",
)
PREFERENCE = re.compile(
    r"\b(?:(?:i|we|she|he|they|my (?:boss|manager|team|supervisor|advisor|colleague|client)|our (?:team|client|group)|the (?:team|client|user|customer|boss|board|reader|reviewer|editor|journal)s?|[a-z]+ (?=prefers?))\s+(?:\w+ly\s+|usually\s+|always\s+|generally\s+|much\s+|would\s+|really\s+|do\s+)*"
    r"(?:prefers?|likes?|loves?|dislikes?|hates?|favou?rs?|can'?t stand|don'?t (?:like|want|need|care for)|doesn'?t (?:like|want)|would rather|tend to|enjoys?)\b|i'd (?:rather|prefer|like (?:all|every|the|my|our|plots|figures|charts|answers|tables|results|numbers|code))|(?:my|our|her|his|their) (?:\w+ )?(?:preference|favou?rite|taste|style)\b|"
    r"(?:prefer|favou?r)\s+\w+|(?:i|we) (?:want|need|expect) (?:all|every|each|the|my|our|your|plots|figures|charts|tables|answers|results|numbers|code)\b.*\b(?:in|with|as|to be|without|rounded|labelled|short|sorted|at)\b|preferabl[ye]\b|if possible[, ]|instead of\b.*\bplease\b|(?:i|we) (?:usually|normally|typically|generally|always|mostly) \w+)"
    r"|更?喜欢|偏好|偏爱|更愿意|宁愿|习惯(?:用|于|使用)?|不喜欢|讨厌|希望(?:你|您|所有|结果|图|表|以后|能|用)|我(?:一般|通常|总是)|最好(?:用|使用|不要|能|以)|我想要(?:的是|所有|全部)",
    _I,
)
USE_PREFERENCE = re.compile(
    r"^(?:please\s+|but\s+|and\s+|so\s+|just\s+|only\s+)*(?:use|stick (?:to|with)|keep (?:using|to|it|the|all|answers?|plots?|things?)|write|report|give|label|format|show|express|answer|reply|respond|call|round|colou?r|leave|avoid|exclude|ignore|treat)\b",
    _I,
)
LASTING = re.compile(
    r"\b(?:instead of|rather than|not (?:the|a|in|with|as|by)\b|no (?:seaborn|more|longer)|all (?:plots|figures|tables|charts|numbers|results|code|answers|the)|every(?:where)?|each|everything|throughout|only|at most|at least|unless|for (?:this|the) (?:project|report|paper|analysis)|in (?:english|german|french|chinese|spanish))\b|代替|而不是|而非|所有|全部|统一",
    _I,
)
CONSTRAINT = re.compile(
    r"\b(?:must(?:n'?t)?|has to|have to(?= be)|never|always|shall|cannot be|can'?t be|may not|not allowed|forbidden|prohibited|mandatory|required?(?! plot)|requires|deadline|due (?:on|by|date|at|in|next|this|to be|tomorrow|today)|no later than|by (?:the end of|end of|monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|next|noon|midnight|eod|cob|january|february|march|april|may|june|july|august|september|october|november|december|\d)|"
    r"until (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|\d)|at most|at least|no more than|no fewer than|no less than|up to \d|maximum|minimum|limit(?:ed)? (?:is|to|of)|budget (?:is|of)|confidential|embargo(?:ed)?|under nda|private|must be|should(?:n'?t| not| never| always| only| be| have| use| contain| include| exclude| go| come| stay| remain)|only (?:use|include|the|rows|data|when|if|for|after|before)|"
    r"do(?:n'?t| not) (?:ever )?(?:use|include|share|change|touch|modify|overwrite|delete|publish|show|mention|drop|remove|round|commit|upload|send|report|mix|call|rename|edit|write|assume|trust|ignore|plot|sort|impute|fill|add|print|put|export|store|log|install|exceed)|avoid|under no circumstances|need(?:s)? to be|not (?:to )?be (?:shared|used|changed|published|removed)|"
    r"expires?|expected (?:on|by)|scheduled (?:for|on)|meeting (?:is )?(?:on|at)|presentation is|submission)\b"
    r"|必须|务必|一定要|不能|不可以?|不许|不得|不要|别(?:用|再|把|删|改)|禁止|严禁|截止|期限|最晚|最迟|最多|至少|不超过|不少于|不低于|不高于|只能|只(?:用|保留|看|允许)|应该|应当|需要在|永远(?:不|要)?|从不|绝不|(?:之前|以前|前)(?:完成|提交|交|发|给)|保密|上限|下限|预算",
    _I,
)
DEADLINE = re.compile(
    r"\b(?:deadline|due (?:on|by|date|at|in|next|this)|no later than|never|always|must(?:n'?t)?|not allowed|forbidden|confidential|under no circumstances|embargo(?:ed)?|mandatory|do(?:n'?t| not))\b|必须|务必|不能|不得|不要|禁止|严禁|截止|最晚|最迟|只能|永远|绝不|保密",
    _I,
)

# --- statements ---------------------------------------------------------------------------------------------------

VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|did|means?|holds?|contains?|stands?|refers?|comes?|came|went|goes|includes?|uses?|used|needs?|wants?|works?|worked|lives?|lived|runs?|owns?|knows?|known|leads?|led|wrote|writes?|made|makes?|gave|gives?|got|gets?|took|takes?|"
    r"met|won|built|sold|bought|kept|left|lost|paid|ran|said|says|sent|spoke|speaks|taught|teaches|told|thought|became|becomes|began|begins|grew|grows|held|can|could|will|would|should|may|might|must|isn't|aren't|wasn't|weren't|hasn't|haven't|doesn't|didn't|can't|won't|don't|"
    r"shows?|shown|drops?|rises?|fell|falls?|rose|equals?|covers?|measures?|counts?|stores?|starts?|ends?|begins?|belongs?|depends?|consists?|represents?|denotes?|indicates?|differs?|correlates?|exceeds?|ranges?|varies|lies|sits|reports?|studies|enjoys?|plays?|loves?|likes?|specializes?|specialises?|graduated|"
    r"i'm|we're|they're|it's|he's|she's|that's|there's|i've|we've|they've|\w{3,}ed|\w{3,}(?:izes|ises|ates|ects|ends|ains|ases|ers|ides|ows|ies|shes|ches))\b",
    _I,
)
NUMBER = re.compile(
    r"(?<![A-Za-z_\d])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![A-Za-z_]*\d)|\d+(?:\.\d+)?(?=[A-Za-z%°])|[零〇一二两三四五六七八九十百千万亿]{2,}|(?:百分之|[一二两三四五六七八九十]倍)"
)
MEASURED = re.compile(
    r"\d\s?(?:%|‰|°|(?:percent|per cent|percentage|pp|mm|cm|m|km|kg|g|mg|µg|μg|t|s|ms|h|hours?|min|minutes?|days?|weeks?|months?|years?|seconds?|k|million|billion|thousand|bn|usd|eur|gbp|dollars?|euros?|rows?|columns?|records?|observations?|samples?|values?|outliers?|duplicates?|penguins?|customers?|users?|orders?|"
    r"respondents?|participants?|patients?|species|countries|regions?|stores?|products?|cells?|points?|groups?|clusters?|categories|kb|mb|gb|tb|hz|khz|°c|°f|celsius|volts?|v|w|kw|kwh|mw|l|ml|mol|ppm|db|px|x|times|fold|standard deviations?|sd|sigma|σ)\b)|[$€£¥]\s?\d|\d\s?[元万亿行列个条名次年月日天倍岁米克吨度人家种组类]|百分之"
    r"|\b(?:mean|median|average|std|standard deviation|variance|correlation|corr|r²|r2|r\^2|r-squared|p[- ]?value|p\s?[<=>]|n\s?=|slope|intercept|coefficient|accuracy|precision|recall|f1|auc|rmse|mae|mse|min(?:imum)?|max(?:imum)?|range|quantile|percentile|iqr|count|total|sum|share|ratio|rate|proportion|score|skew(?:ness)?|kurtosis|chi|anova|"
    r"confidence|interval|missing|outliers?|duplicates?|rows?|columns?|observations?)\b|均值|平均|中位数|标准差|方差|相关|显著|比例|占比|总(?:数|和|计|共)|缺失|异常值|重复|最大|最小|最高|最低|准确率|斜率|样本",
    _I,
)
CONCLUSION = re.compile(
    r"\b(?:correlat\w+|highest|lowest|largest|smallest|heaviest|lightest|longest|shortest|strongest|weakest|most|least|significant(?:ly)?|increas\w+|decreas\w+|higher|lower|larger|smaller|more|fewer|less|heavier|lighter|longer|shorter|separates?|differs?|no (?:missing|duplicate|outlier|correlation|difference|trend|evidence)\w*|missing|duplicates?|outliers?|skewed|bimodal|normal(?:ly)?|trend|seasonal|"
    r"explains?|predicts?|driven by|caused by|because|due to|means that|indicates?|suggests?|confirms?|shows? that|turns? out|depends on|consists? of|contains?|stands? for|refers? to|measured in|recorded in|in (?:grams|thousands|millions|dollars|euros|mm|kg)|unit|primary key|foreign key|identifier|the same as|unique)\b"
    r"|显著|相关|最(?:大|小|高|低|长|短|重|轻|多|少)|增加|减少|上升|下降|高于|低于|大于|小于|多于|少于|没有缺失|缺失|异常|重复|趋势|说明|表明|因为|由于|取决于|单位(?:是|为)|表示",
    _I,
)
AGENT_NOISE = re.compile(
    r"^(?:\W*)(?:(?:now|next|first|second|then|ok(?:ay)?|sure|great|alright|good|perfect|certainly|of course|to do (?:this|that|so)|after that|finally)[,.!]?\s+)*(?:i(?:'ll| will|'m going to| am going to|'d| would| can| could| need to| should| want to| plan to|'m (?:now|about)| am (?:now|about))\b|let me\b|let's\b|let us\b|we(?:'ll| will| can| could| should| need to)\b|would you\b|do you\b|shall i\b|should i\b|"
    r"if you(?:'d| would)? (?:like|want|need|prefer|wish)|feel free|here(?:'s| is| are)\b|below\b|the (?:following|code|cell|plot|figure|chart|table) (?:below|above|shows you|uses|will|creates|computes)|you can\b|you could\b|you may\b|you might\b|please\b|thanks?\b|thank you|happy to|glad to|sorry\b|i apologi[sz]e|i hope|hope this|let me know|step \d|starting\b|loading\b|running\b|checking\b|"
    r"looking at\b.*:$|as (?:you can see|an ai|requested)|welcome\b|you're\b|great\b|done\b|ok\b|noted\b|understood\b|got it)|^(?:好的|接下来|现在|下面|首先|让我|我将|我会|我来|我可以|请|如果(?:你|您)|需要我|是否需要|以下是|下面是|这里是|希望|抱歉|很高兴|没问题)",
    _I,
)
ACTION = re.compile(
    r"\b(?:(?:i|we)(?:'ve| have)?\s+(?:also\s+|then\s+|only\s+|first\s+|therefore\s+)?(?:dropped|removed|excluded|filtered|kept|merged|joined|renamed|imputed|filled|converted|parsed|cleaned|deduplicated|replaced|capped|winsori[sz]ed|standardi[sz]ed|normali[sz]ed|log-transformed|transformed|defined|encoded|treated|recoded|aggregated|resampled|split|set|used|chose|fitted|trained|assumed|created|added|stored|sampled|restricted|limited)\b|"
    r"^(?:dropped|removed|excluded|filtered|kept|merged|joined|renamed|imputed|filled|converted|cleaned|deduplicated|replaced|created|added|stored|defined|sampled)\b|(?:was|were|been) (?:dropped|removed|excluded|filtered|kept|merged|renamed|imputed|filled|converted|replaced|capped|recoded|deduplicated|defined as|treated as))"
    r"|(?:我|我们)?(?:已经?)?(?:删除|去除|剔除|排除|保留|合并|重命名|填充|转换|替换|清洗|去重|定义|创建|新增)了",
    _I,
)
SAVED = re.compile(
    r"\b(?:saved?|written|wrote|exported|stored|dumped|output)\b[^.]{0,80}?[`'\"]?(?P<file>[\w./\\~-]+\.[A-Za-z][A-Za-z0-9]{1,7})\b|(?:保存|写入|导出|存)(?:到|为|至|成)?[^。]{0,30}?(?P<file_zh>[\w./\\~-]+\.[A-Za-z][A-Za-z0-9]{1,7})",
    _I,
)
FILE = re.compile(
    r"(?<![\w/@.])(?:[A-Za-z]:)?[\w./\\~-]*[\w-]+\.(?:csv|tsv|parquet|xlsx?|json[l]?|feather|pkl|pickle|txt|ya?ml|toml|ipynb|py|r|sql|db|sqlite3?|png|svg|pdf|h5|hdf5|nc|dta|sav|rds|zip|gz|md|html|docx?|pptx?|geojson|shp|npy|npz|arrow|log)\b(?!\()",
    _I,
)
IDENTIFIER = re.compile(
    r"`[^`\n]{1,80}`|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]{1,12}\d{1,3}\b|\b(?:column|variable|field|feature|table|dataframe|data frame|dataset|data set|file|row|sheet|key|index)s?\b|列|变量|字段|表|数据集|文件",
    _I,
)
PROPER = re.compile(r"(?<=[\w,;:)'’] )[A-Z][a-z]+(?:['’-][A-Z]?[a-z]+)*\b|\b[A-Z]{2,}\b|^[A-Z][a-z]+ [A-Z][a-z]+")
PRONOUN = re.compile(
    r"^(?:it|they|he|she|these|those|this|that|its|their|his|her|both|the (?:former|latter|first|second|other|same)|here|there|such|so|however|therefore|thus|hence|but|also|as a result|for example|in other words|otherwise|它们?|他们?|她们?|其|这些?|那些?|此|该|前者|后者|因此|所以|但是?|另外|而且|也就是说|例如|两者)(?:['’](?:s|re|ve|ll|d))?(?=[\s,，]|[\u4e00-\u9fff])",
    _I,
)
THERE_IS = re.compile(r"^there(?:'s|\s+(?:is|are|was|were|has|have))\b", _I)
LEAD_OFF = re.compile(
    r"^(?:(?:by the way|btw|also|one more thing|another thing|oh|ah|ok(?:ay)?|well|so|and|hi|hello|hey|thanks?|thank you|great|good|nice|cool|perfect|yes|no|sure|right|actually|in fact|just so you know|as you know|(?:a )?(?:quick )?(?:background|context|some context|heads[- ]up|reminder)|important|in addition|additionally|moreover|furthermore|p\.?s\.?|"
    r"(?:hi|hello|hey|thanks|thank you),? (?:claude|agent|there|everyone|again)|one note|a note)(?:[,:;!.]+\s*|\s+[-–—]+\s+)|(?:顺便(?:说一下|说|提一下)?|另外|对了|还有|补充一下|说明一下|背景|提醒一下|好的|谢谢|你好)[，,：:。！!]\s*)+",
    _I,
)
INSTRUCTION = re.compile(
    r"\b(?:ignore (?:all |any |the )?(?:previous|prior|above)|system prompt|you are (?:now )?an? (?:ai|assistant|language model)|as an ai|jailbreak|disregard)\b|忽略(?:之前|以上|前面)",
    _I,
)
DIGIT_NOISE = re.compile(
    r"^(?:step|figure|fig\.|table|cell|section|part|option|example|chapter|page|item|point|task|question|q|no\.?|#)\s*\d+\b|\bhere (?:are|is)\b|\b(?:first|last|top) \d+ rows\b(?: (?:of|look|are|below))?",
    _I,
)
