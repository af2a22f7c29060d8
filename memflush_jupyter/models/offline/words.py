"""Words of a request: tokens, plurals, the vocabulary that carries no data, and basic Chinese phrasings."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|\d+(?:\.\d+)?|(?:(?![{_CJK}])[^\W\d_])+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")


_LONG = 4
"""Shorter words keep their last letter: it is no plural's."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word with its place in the text."""

    word: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The words and numbers of a text, lower case; each CJK character is a token of its own."""
    return [Token(match.group().casefold(), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def pieces(name: str) -> list[str]:
    """The words inside a name: ``bill_length_mm`` and ``billLengthMm`` give ``bill``, ``length``, ``mm``."""
    return [token.word for token in tokens(_CAMEL.sub(" ", name))]


def same_word(left: str, right: str) -> bool:
    """Equal up to an English plural."""
    return left == right or stem(left) == stem(right)


def stem(word: str) -> str:
    """The word without a plural ending; short words and words in -ss, -us, -is keep theirs."""
    if len(word) > _LONG and word.endswith("ies") and word not in {"species", "series"}:
        return word[:-3] + "y"
    if len(word) > _LONG and word.endswith(("xes", "ches", "shes", "sses")):
        return word[:-2]
    if len(word) >= _LONG and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in {"species", "series"}:
        return word[:-1]
    return word


IDLE = frozenset(
    """
    a an the of in on for to from with by per and or then also please just now me my our us we i you your it its them their this that these those is
    are was were be been do does did can could would should will shall may might have has had there here what which who how whose when where as at
    into over under between among across within against versus vs about each every all any some both either more most least very much many than so if
    not no yes ok okay only same other different various given using use used show shows tell give get find see look let make made print display list
    want need like compute calculate determine work out up down know check take data dataset dataframe frame table column columns variable variables
    field fields value values row rows record records observation observations entry entries sample samples case cases measurement measurements
    measure measures numeric numerical numbers number feature features group groups category categories class classes kind kinds type types level
    levels one ones thing things result results overall total whole entire full current present plot plots plotted chart charts graph graphs figure
    figures draw visualise visualize picture histogram histograms hist bar bars scatter scatterplot line lines box boxplot boxplots boxes whisker
    barplot barchart linear point points diagram matplotlib seaborn pandas numpy title titles label labels labelled labeled axis axes colour color
    mean means average averages median medians sum sums minimum min maximum max std standard deviation deviations variance var count counts counted
    unique distinct nunique range statistics stats statistic summary summaries summarise summarize describe description profile overview explore
    analyse analyze analysis info information structure missing null nulls nan nans na empty incomplete complete gaps gap blank blanks distribution
    distributions distributed spread shape shaped skew skewed quantile quantiles percentile percentiles decile deciles histogramme frequency
    frequencies often common compare compares comparing comparison comparisons differ differs difference differences separate separates separating
    separation distinguish distinguishes discriminate discriminates vary varies variation best strongest strongly clearly well effect size sizes eta
    squared rank ranked ranking ranks order ordered sorted sort correlate correlates correlated correlation correlations relation relations
    relationship relationships related association associated associations matrix pearson spearman pairwise pair pairs link linked coefficient
    coefficients heatmap outlier outliers outlying anomaly anomalies anomalous unusual extreme extremes iqr sigma rule interquartile method trend
    trends time times temporal change changes changed develop developed development evolve evolved evolution year years yearly annual annually month
    months monthly day days daily week weeks weekly quarter quarters quarterly top bottom largest biggest highest lowest smallest greatest high low
    big small large first last head tail preview regression regress regressed fit fitted fitting squares predict predicts predicted prediction slope
    intercept model straight depend depends dependence function explain explains grouped grouping split breakdown broken break groupwise excluding
    exclude except without ignoring ignore drop dropping filter filtered restrict restricted limited subset again instead too follows quick quickly
    brief briefly simple simply interesting anything something everything load loaded read open import csv tsv excel parquet json file files xlsx
    round rounded decimals decimal places place digits hello hi hey thanks thank live lives living coloured colored colouring beyond share shares
    proportion percentage percentages occur occurs occurring detect detects identify highlight mark exactly roughly quite really actually maybe
    perhaps currently still already lets able along together separately respectively general particular specific certain main major minor key possible
    potential possibly distinctly differently similar similarly equal equals unequal wide broad typical typically normal normally standardly rather
    around approximately near nearby next previous prior later early earlier late further additional extra another others else because since until
    during while whether though although report provides provide return returns output outputs inspect examine examining investigate study studying
    help task question answer request come comes happen happens looks go goes going doing seem seems exist exists available contain contains inside
    kernel memory notebook namespace workspace defined dtype dtypes name names named called
    """.split()
)
"""Words that name no data: a request may hold them, and nothing need explain them."""

LABEL_LIKE = frozenset(
    """
    small large big high low first last yes no other others normal typical normally main major minor common simple full whole entire present
    early late earlier later wide broad general specific certain special open different same well low strong
    """.split()
)
"""Idle words that often are values ("small", "first", "yes"): the values are looked up before one of them is passed over."""

_CHINESE = (
    ("多少种不同的", " how many distinct "),
    ("多少个不同的", " how many distinct "),
    ("有多少行", " how many rows "),
    ("多少行", " how many rows "),
    ("行数", " number of rows "),
    ("有哪些列", " what columns "),
    ("列名", " column names "),
    ("哪些变量", " what variables "),
    ("有什么变量", " what variables "),
    ("有哪些文件", " list files "),
    ("列出文件", " list files "),
    ("缺失值", " missing values "),
    ("缺失", " missing "),
    ("空值", " missing "),
    ("异常值", " outliers "),
    ("离群值", " outliers "),
    ("离群点", " outliers "),
    ("相关系数", " correlation "),
    ("相关性", " correlation "),
    ("相关", " correlation "),
    ("线性回归", " linear regression "),
    ("回归", " regression "),
    ("预测", " predict "),
    ("直方图", " histogram "),
    ("柱状图", " bar chart "),
    ("条形图", " bar chart "),
    ("散点图", " scatter plot "),
    ("折线图", " line chart "),
    ("箱线图", " box plot "),
    ("箱形图", " box plot "),
    ("分布", " distribution "),
    ("趋势", " trend "),
    ("随时间", " over time "),
    ("标准差", " standard deviation "),
    ("方差", " variance "),
    ("平均值", " mean "),
    ("平均", " mean "),
    ("均值", " mean "),
    ("中位数", " median "),
    ("最大值", " maximum "),
    ("最小值", " minimum "),
    ("总和", " sum "),
    ("合计", " sum "),
    ("最大的", " largest "),
    ("最高的", " highest "),
    ("最小的", " smallest "),
    ("最低的", " lowest "),
    ("前几行", " first 5 rows "),
    ("频数", " value counts "),
    ("计数", " value counts "),
    ("数量", " value counts "),
    ("概览", " overview "),
    ("概况", " overview "),
    ("描述", " describe "),
    ("总结", " summarise "),
    ("汇总", " summarise "),
    ("统计", " statistics "),
    ("分析", " analyse "),
    ("比较", " compare "),
    ("对比", " compare "),
    ("差异", " difference "),
    ("区分", " separate "),
    ("读取", " load "),
    ("加载", " load "),
    ("打开", " open "),
    ("导入", " import "),
    ("画出", " plot "),
    ("绘制", " plot "),
    ("画图", " plot "),
    ("绘图", " plot "),
    ("画", " plot "),
    ("按照", " by "),
    ("按", " by "),
    ("不同", " each "),
    ("每个", " each "),
    ("每种", " each "),
    ("各个", " each "),
    ("各", " each "),
    ("只看", " only "),
    ("仅", " only "),
    ("排除", " excluding "),
    ("大于等于", " at least "),
    ("小于等于", " at most "),
    ("大于", " greater than "),
    ("小于", " less than "),
    ("等于", " equals "),
    ("高于", " above "),
    ("低于", " below "),
    ("然后", " then "),
    ("并且", " and "),
    ("以及", " and "),
    ("和", " and "),
    ("与", " and "),
    ("对", " on "),
    ("前", " top "),
    ("帮助", " help "),
    ("你好", " hello "),
    ("谢谢", " thanks "),
)
_CHINESE_IDLE = re.compile(
    "哪些|哪个|什么|测量|指标|变量|数据框|数据集|数据|之间|关系|请问|请|帮我|给我|看看|显示|列出|计算|求|一下|是|的|有|在|里|中|了|吗|呢|个|名|行|列|值|多少|我|想|要|能|最|与否|如何|怎么样"
    "|怎样|之|间|它|们|用|把|将|为|做|图|一|张|所有|全部|组|间|种|以|间"
)


def english(text: str) -> str:
    """Chinese keywords replaced by English ones; text without Chinese comes back as it is."""
    if not re.search(f"[{_CJK}]", text):
        return text
    for chinese, word in _CHINESE:
        text = text.replace(chinese, word)
    text = _CHINESE_IDLE.sub(" ", text)
    return text.translate(str.maketrans("，。？！；：、（）", ",.?!;:,()"))


_NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twenty": 20}
_NUMBERS |= {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
NUMBER_WORDS = frozenset(_NUMBERS)


def whole(word: str) -> int:
    """The value of a small number, in digits or as a word."""
    return _NUMBERS[word.casefold()] if word.casefold() in _NUMBERS else int(float(word))
