"""The signs by which the floor tells what is worth keeping, in English and Chinese.

Each pattern is one sign; the order of their use stands with the judges.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_I = re.IGNORECASE


class Sign(NamedTuple):
    """One sign in both languages; the Chinese pattern is tried only on text that can hold it."""

    latin: re.Pattern[str]
    chinese: re.Pattern[str]

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in either language."""
        return self.latin.search(text) or (None if text.isascii() else self.chinese.search(text))

    def count(self, text: str) -> int:
        """Return how often it occurs, in both languages together."""
        return len(self.latin.findall(text)) + (0 if text.isascii() else len(self.chinese.findall(text)))


_I = re.IGNORECASE
REMEMBER = re.compile(
    r"^(?:(?:can|could|would|will) you\s+(?:please\s+)?|please[,]?\s+|i(?:'d| would) like you to\s+|i want you to\s+|(?:you (?:should|must)|"
    r"make sure (?:you|to)|be sure to)\s+|do\s+|always\s+|just\s+|also[,]?\s+)*"
    r"(?:remember|memori[sz]e|keep (?:it )?in mind|bear in mind|note|take note|make a note|don'?t (?:ever )?forget|never forget|save (?:this|that|"
    r"it)? ?(?:to|in) (?:your )?memory|add (?:this|that|it)? ?to (?:your )?memory|"
    r"note to self|for (?:the|your) (?:record|reference|information)|fyi|write (?:this|that|it) down|jot (?:this|that|it) down|store (?:this|that))\b"
    r"(?:\s+(?:this|that|the following|it|for (?:later|next time|future|the future)|somewhere|down|as well|too|of (?:this|that)|"
    r"of the fact))*\s*(?:[:,;–—-]+\s*|\s+that\s+|\s+to\s+(?=\w)|\s+|[.!]*$)"
    r"(?:that\s+)?",
    _I,
)
REMEMBER_ZH = re.compile(
    r"^(?:请|麻烦|你|您|要|帮我|务必|一定要?|都|也|，|,|\s)*(?:记住|记得|牢记|记一下|记下来?|记录一下|别忘了?|不要忘记|不要忘了|备忘|备注|存到记忆里?|写进记忆|注意)(?:这一点|这点|这个|一下|了|下)?\s*[：:，,、。.!！]*\s*"
)
REMEMBER_TAIL = Sign(
    re.compile(
        r"[\s,;.–—-]+(?:so\s+|and\s+)?(?:please\s+)?(?:remember|keep in mind|don'?t forget|note|memori[sz]e|write down|save)\s+(?:this|that|"
        r"it)(?:\s+(?:for (?:later|next time|future)|please|down|in mind))?[.!]*$",
        _I,
    ),
    re.compile(r"[，,。\s]*(?:请|要|务必)?(?:记住(?:这一?点|这个|它|了|哦)?|记下来|别忘了)[。！!.]*$"),
)
ONLY_POINTER = re.compile(r"^(?:this|that|it|these|those|the above|all (?:of )?(?:this|that)|everything|这一?点|这个|以上|上面的?|它)?[\s.!。！,，]*$", _I)
FROM_NOW_ON = Sign(
    re.compile(
        r"\b(?:from now on|from here on|from this point|going forward|in (?:the )?future\b(?!\w)|for all (?:future|later|the remaining|further)|"
        r"henceforth|by default|every time|each time|whenever (?:you|i|we))\b",
        _I,
    ),
    re.compile(r"(?:以后|今后|从现在起|从今以后|从现在开始|往后|下次|每次|一律|默认)"),
)
EMBEDDED = Sign(
    re.compile(
        r"(?:[,;:–—]\s*|\s+)(?:and|but|also|so|then)?[,]?\s*(?=(?:please\s+)?(?:remember (?:that|to)|keep in mind|from now on|going forward|"
        r"note that|don'?t forget)\b)|(?:[,;]\s*|\s+)(?:and|but)\s+(?=(?:always|never)\b)",
        _I,
    ),
    re.compile(r"[，；;]\s*(?=(?:请|并|另外|而且|但)?(?:记住|以后|今后|从现在起|注意))"),
)
DECISION = Sign(
    re.compile(
        r"\b(?:(?:[Ww]e|[Ii]|[Tt]hey|[Tt]he team|[A-Z]\w+)(?:['’]ve| have| had)?\s+(?:all\s+|already\s+|just\s+|finally\s+|jointly\s+)?(?:decided|"
        r"agreed|settled|chose|chosen|opted|concluded|committed|resolved|picked|selected|voted|approved|standardi[sz]ed)\b|(?:[Ww]e|"
        r"[Ii])(?:['’]ll| will|'re going to| are going to|'m going to| am going to)\s+(?:use|go with|keep|stick|drop|exclude|ignore|treat|adopt|"
        r"report|take|skip|define|assume|work with|switch|publish|present|submit|call|store|focus|restrict|limit)\b|(?:[Ii]t (?:was|is|"
        r"has been) (?:decided|agreed)|(?:[Tt]he|[Oo]ur|[Mm]y|[Ff]inal) (?:\w+ )?(?:decision|choice|verdict|plan|agreement|conclusion|"
        r"consensus) (?:is|was)|[Dd]ecision\s*:|[Dd]ecided\s*:|[Aa]greed\s*:)|[Ll]et['’]?s (?:use|go with|keep|stick (?:with|to)|agree|settle|"
        r"adopt|drop|exclude|ignore|treat|call|define|assume|leave out|standardi[sz]e|say)\b|(?:go|going|went) with\b.+\b(?:instead|rather|not|"
        r"over|for)\b|(?:has|have|had) (?:been )?(?:decided|chosen|agreed)\b)",
    ),
    re.compile(
        r"决定|敲定|商定|约定|一致(?:同意|认为)|(?:我们|就|还是|最终|最后|统一|改)(?:都)?(?:采用|选用|选择|使用|用|选)(?!户|的|完|于)|定(?:为|在)|"
        r"结论是|达成(?:共识|一致)|同意(?:用|采用|使用)"
    ),
)
PREFERENCE = Sign(
    re.compile(
        r"\b(?:(?:i|we|she|he|they|my (?:boss|manager|team|supervisor|advisor|colleague|client)|our (?:team|client|group)|the (?:team|client|user|"
        r"customer|boss|board|reader|reviewer|editor|journal)s?|[a-z]+ (?=prefers?))\s+(?:\w+ly\s+|usually\s+|always\s+|generally\s+|much\s+|"
        r"would\s+|really\s+|do\s+)*(?:prefers?|likes?|loves?|dislikes?|hates?|favou?rs?|can'?t stand|don'?t (?:like|want|need|care for)|"
        r"doesn'?t (?:like|want)|would rather|tend to|enjoys?)\b|i'd (?:rather|prefer|like (?:all|every|the|my|our|plots|figures|charts|answers|"
        r"tables|results|numbers|code))|(?:my|our|her|his|their) (?:\w+ )?(?:preference|favou?rite|taste|style)\b|(?:prefer|favou?r)\s+\w+|(?:i|"
        r"we) (?:want|need|expect) (?:all|every|each|the|my|our|your|plots|figures|charts|tables|answers|results|numbers|code)\b.*\b(?:in|with|as|"
        r"to be|without|rounded|labelled|short|sorted|at)\b|preferabl[ye]\b|if possible[, ]|instead of\b.*\bplease\b|(?:i|we) (?:usually|normally|"
        r"typically|generally|always|mostly) \w+)",
        _I,
    ),
    re.compile(
        r"更?喜欢|偏好|偏爱|更愿意|宁愿|习惯(?:用|于|使用)?|不喜欢|讨厌|希望(?:你|您|所有|结果|图|表|以后|能|用)|我(?:一般|通常|总是)|最好(?:用|"
        r"使用|不要|能|以)|我想要(?:的是|所有|全部)"
    ),
)
USE_PREFERENCE = re.compile(
    r"^(?:please\s+|but\s+|and\s+|so\s+|just\s+|only\s+)*(?:use|stick (?:to|with)|keep (?:using|to|it|the|all|answers?|plots?|things?)|write|report|give|"
    r"label|format|show|express|answer|reply|respond|call|round|colou?r|leave|avoid|exclude|ignore|treat)\b",
    _I,
)
LASTING = Sign(
    re.compile(
        r"\b(?:instead of|rather than|not (?:the|a|in|with|as|by)\b|no (?:seaborn|more|longer)|all (?:plots|figures|tables|charts|numbers|results|"
        r"code|answers|the)|every(?:where)?|each|everything|throughout|only|at most|at least|unless|for (?:this|the) (?:project|report|paper|"
        r"analysis)|in (?:english|german|french|chinese|spanish))\b",
        _I,
    ),
    re.compile(r"代替|而不是|而非|所有|全部|统一"),
)
CONSTRAINT = Sign(
    re.compile(
        r"\b(?:must(?:n'?t)?|has to|have to(?= be)|never|always|shall|cannot be|can'?t be|may not|not allowed|forbidden|prohibited|mandatory|"
        r"required?(?! plot)|requires|deadline|due (?:on|by|date|at|in|next|this|to be|tomorrow|today)|no later than|by (?:the end of|end of|"
        r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|next|noon|midnight|eod|cob|january|february|march|april|may|june|july|"
        r"august|september|october|november|december|\d)|until (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|\d)|at most|at least|"
        r"no more than|no fewer than|no less than|up to \d|maximum|minimum|limit(?:ed)? (?:is|to|of)|budget (?:is|of)|confidential|embargo(?:ed)?|"
        r"under nda|private|must be|should(?:n'?t| not| never| always| only| be| have| use| contain| include| exclude| go| come| stay| remain)|"
        r"only (?:use|include|the|rows|data|when|if|for|after|before)|do(?:n'?t| not) (?:ever )?(?:use|include|share|change|touch|modify|"
        r"overwrite|delete|publish|show|mention|drop|remove|round|commit|upload|send|report|mix|call|rename|edit|write|assume|trust|ignore|plot|"
        r"sort|impute|fill|add|print|put|export|store|log|install|exceed)|avoid|important (?:that|to)|crucial|essential|make sure|ensure|"
        r"under no circumstances|need(?:s)? to be|not (?:to )?be (?:shared|"
        r"used|changed|published|removed)|expires?|expected (?:on|by)|scheduled (?:for|on)|meeting (?:is )?(?:on|at)|presentation is|submission)\b",
        _I,
    ),
    re.compile(
        r"必须|务必|一定要|不能|不可以?|不许|不得|不要|别(?:用|再|把|删|改)|禁止|严禁|截止|期限|最晚|最迟|最多|至少|不超过|不少于|不低于|不高于|"
        r"只能|只(?:用|保留|看|允许)|应该|应当|需要在|永远(?:不|要)?|从不|绝不|(?:之前|以前|前)要?(?:完成|提交|交|发|给)|保密|上限|下限|预算"
    ),
)
FIRM = Sign(
    re.compile(
        r"\b(?:deadline|due (?:on|by|date|at|in|next|this)|no later than|never|always|must(?:n'?t)?|not allowed|forbidden|confidential|"
        r"under no circumstances|embargo(?:ed)?|mandatory|do(?:n'?t| not))\b",
        _I,
    ),
    re.compile(r"必须|务必|不能|不得|不要|禁止|严禁|截止|最晚|最迟|只能|永远|绝不|保密"),
)
NUMBER = Sign(
    re.compile(
        r"(?<![A-Za-z_\d])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![A-Za-z_]*\d)|\d+(?:\.\d+)?(?=[A-Za-z%°])",
    ),
    re.compile(r"[零〇一二两三四五六七八九十百千万亿]{2,}|(?:百分之|[一二两三四五六七八九十]倍)"),
)
MEASURED = Sign(
    re.compile(
        r"\d\s?(?:%|‰|°|(?:percent|per cent|percentage|pp|mm|cm|m|km|kg|g|mg|µg|μg|t|s|ms|h|hours?|min|minutes?|days?|weeks?|months?|years?|"
        r"seconds?|k|million|billion|thousand|bn|usd|eur|gbp|dollars?|euros?|rows?|columns?|records?|observations?|samples?|values?|outliers?|"
        r"duplicates?|penguins?|customers?|users?|orders?|respondents?|participants?|patients?|species|countries|regions?|stores?|products?|"
        r"cells?|points?|groups?|clusters?|categories|kb|mb|gb|tb|hz|khz|°c|°f|celsius|volts?|v|w|kw|kwh|mw|l|ml|mol|ppm|db|px|x|times|fold|"
        r"standard deviations?|sd|sigma|σ)\b)|[$€£¥]\s?\d|\b(?:mean|median|average|std|standard deviation|variance|correlation|corr|r²|r2|r\^2|"
        r"r-squared|p[- ]?value|p\s?[<=>]|n\s?=|slope|intercept|coefficient|accuracy|precision|recall|f1|auc|rmse|mae|mse|min(?:imum)?|"
        r"max(?:imum)?|range|quantile|percentile|iqr|count|total|sum|share|ratio|rate|proportion|score|skew(?:ness)?|kurtosis|chi|anova|"
        r"confidence|interval|missing|outliers?|duplicates?|rows?|columns?|observations?)\b",
        _I,
    ),
    re.compile(
        r"\d\s?[元万亿行列个条名次年月日天倍岁米克吨度人家种组类]|百分之|均值|平均|中位数|标准差|方差|相关|显著|比例|占比|总(?:数|和|计|共)|缺失|"
        r"异常值|重复|最大|最小|最高|最低|准确率|斜率|样本"
    ),
)
SUPERLATIVE = re.compile(
    r"\b(?:high|low|larg|small|heav|light|long|short|strong|weak|fast|slow|cheap|old|new|bigg|wid)\w{0,2}est\b|\bmost\b|\bleast\b|\bonly\b", _I
)
CONCLUSION = Sign(
    re.compile(
        r"\b(?:correlat\w+|highest|lowest|largest|smallest|heaviest|lightest|longest|shortest|strongest|weakest|most|least|significant(?:ly)?|"
        r"increas\w+|decreas\w+|higher|lower|larger|smaller|more|fewer|less|heavier|lighter|longer|shorter|separates?|differs?|no (?:missing|"
        r"duplicate|outlier|correlation|difference|trend|evidence)\w*|missing|duplicates?|outliers?|skewed|bimodal|normal(?:ly)?|trend|seasonal|"
        r"explains?|predicts?|driven by|caused by|because|due to|means that|indicates?|suggests?|confirms?|shows? that|turns? out|depends on|"
        r"consists? of|contains?|stands? for|refers? to|measured in|recorded in|in (?:grams|thousands|millions|dollars|euros|mm|kg)|unit|"
        r"primary key|foreign key|identifier|the same as|unique)\b",
        _I,
    ),
    re.compile(
        r"显著|相关|最(?:大|小|高|低|长|短|重|轻|多|少)|增加|减少|上升|下降|高于|低于|大于|小于|多于|少于|没有缺失|缺失|异常|重复|趋势|说明|表明|"
        r"因为|由于|取决于|单位(?:是|为)|表示"
    ),
)
ACTION = Sign(
    re.compile(
        r"\b(?:(?:i|we)(?:'ve| have)?\s+(?:also\s+|then\s+|only\s+|first\s+|therefore\s+)?(?:dropped|removed|excluded|filtered|kept|merged|joined|"
        r"renamed|imputed|filled|converted|parsed|cleaned|deduplicated|replaced|capped|winsori[sz]ed|standardi[sz]ed|normali[sz]ed|"
        r"log-transformed|transformed|defined|encoded|treated|recoded|aggregated|resampled|split|set|used|chose|fitted|trained|assumed|created|"
        r"added|stored|sampled|restricted|limited)\b|^(?:dropped|removed|excluded|filtered|kept|merged|joined|renamed|imputed|filled|converted|"
        r"cleaned|deduplicated|replaced|created|added|stored|defined|sampled)\b|(?:was|were|been) (?:dropped|removed|excluded|filtered|kept|"
        r"merged|renamed|imputed|filled|converted|replaced|capped|recoded|deduplicated|defined as|treated as))",
        _I,
    ),
    re.compile(r"(?:我|我们)?(?:已经?)?(?:删除|去除|剔除|排除|保留|合并|重命名|填充|转换|替换|清洗|去重|定义|创建|新增)[成为]?了"),
)
SAVED = Sign(
    re.compile(
        r"\b(?:saved?|written|wrote|exported|stored|dumped|output)\b[^.]{0,80}?[`'\"]?(?P<file>[\w./\\~-]+\.[A-Za-z][A-Za-z0-9]{1,7})\b",
        _I,
    ),
    re.compile(r"(?:保存|写入|导出|存)(?:到|为|至|成)?[^。]{0,30}?(?P<file_zh>[\w./\\~-]+\.[A-Za-z][A-Za-z0-9]{1,7})"),
)
FILE = re.compile(
    r"(?<![\w/@.])(?:[A-Za-z]:)?[\w./\\~-]*[\w-]+\.(?:csv|tsv|parquet|xlsx?|json[l]?|feather|pkl|pickle|txt|ya?ml|toml|ipynb|py|r|sql|db|sqlite3?|png|svg|"
    r"pdf|h5|hdf5|nc|dta|sav|rds|zip|gz|md|html|docx?|pptx?|geojson|shp|npy|npz|arrow|log)\b(?!\()",
    _I,
)
IDENTIFIER = Sign(
    re.compile(
        r"`[^`\n]{1,80}`|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]{1,12}\d{1,3}\b|\b(?:column|variable|field|feature|table|dataframe|data frame|"
        r"dataset|data set|file|row|sheet|key|index)s?\b",
        _I,
    ),
    re.compile(r"列|变量|字段|表|数据集|文件"),
)
PROPER = re.compile(r"(?<=[\w,;:)'’] )[A-Z][a-z]+(?:['’-][A-Z]?[a-z]+)*\b|\b[A-Z]{2,}\b|^[A-Z][a-z]+ [A-Z][a-z]+")
PRONOUN = re.compile(
    r"^(?:it|they|he|she|these|those|this|that|its|their|his|her|both|the (?:former|latter|first|second|other|same)|here|there|such|so|however|therefore|"
    r"thus|hence|but|also|as a result|for example|in other words|otherwise|"
    r"它们?|他们?|她们?|其|这些?|那些?|此|该|前者|后者|因此|所以|但是?|另外|而且|也就是说|例如|两者)(?:['’](?:s|re|ve|ll|"
    r"d))?(?=[\s,，]|[\u4e00-\u9fff])",
    _I,
)
THERE_IS = re.compile(r"^there(?:'s|\s+(?:is|are|was|were|has|have))\b", _I)
LEAD_OFF = re.compile(
    r"^(?:(?:by the way|btw|also|one more thing|another thing|oh|ah|ok(?:ay)?|well|so|and|hi|hello|hey|thanks?|thank you|great|good|nice|cool|perfect|yes|"
    r"no|sure|right|actually|in fact|just so you know|as you know|(?:a )?(?:quick )?(?:background|context|some context|heads[- ]up|reminder)|important|"
    r"sorry|hmm+|oops|wow|haha|lol|"
    r"in addition|additionally|moreover|furthermore|p\.?s\.?|"
    r"(?:hi|hello|hey|thanks|thank you),? (?:claude|agent|there|everyone|again)|one note|a note)(?:[,:;!.]+\s*|\s+[-–—]+\s+)|"
    r"(?:顺便(?:说一下|说|提一下)?|另外|对了|还有|"
    r"补充一下|说明一下|背景|提醒一下|好的|谢谢|你好)[，,：:。！!]\s*)+",
    _I,
)
LETS_DECIDE = Sign(
    re.compile(
        r"\blet'?s (?:use|go with|keep|stick|agree|settle|adopt|drop|exclude|ignore|treat|call|define|assume|leave out|standardi[sz]e|say)\b|"
        r"\bdecided\b|\bagreed\b",
        _I,
    ),
    re.compile(r"决定|约定|敲定"),
)
SHORT_NAME = re.compile(r"(?:df|np|pd|id|x|y|z)\d*")
ORDERS = Sign(
    re.compile(
        r"\b(?:remember|you must|you should|always|never|from now on|ignore|forget|delete)\b",
        _I,
    ),
    re.compile(r"记住|必须|以后|从现在起|忽略"),
)
DOT = re.compile(r"\.\w")
STATES = re.compile(r"^(?:the|each|every|all|both|most|no|none)\b.{3,60}?\b(?:is|are|was|were|has|have)\b", _I)
