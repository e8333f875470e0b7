"""Chinese profiles of a dozen countries: templates and a table of names.

Called by country_profiles.py.  Only values whose names stand in the table are
written; a name without a translation is left out, and a sentence that would
lose all its values with it.
Licence: the templates and the table are MIT OR Apache-2.0, like the project.
"""
import re
import zlib
from decimal import Decimal

from factbook_values import (ALIASES, bare, km, names, percent, point, quantity, series, shares,
                             split_list, year)

FILES = ["Brazil", "China", "Egypt", "France", "Germany", "India", "Japan", "Mongolia", "Russia",
         "South Korea", "Switzerland", "Vietnam"]

TABLE = """
Afghanistan=阿富汗|Andorra=安道尔|Argentina=阿根廷|Australia=澳大利亚|Austria=奥地利|Azerbaijan=阿塞拜疆
Bangladesh=孟加拉国|Belarus=白俄罗斯|Belgium=比利时|Bhutan=不丹|Bolivia=玻利维亚|Brazil=巴西|Burma=缅甸
Cambodia=柬埔寨|China=中国|Colombia=哥伦比亚|Czech Republic=捷克|Denmark=丹麦|Egypt=埃及|Estonia=爱沙尼亚
Finland=芬兰|France=法国|French Guiana=法属圭亚那|Gaza Strip=加沙地带|Georgia=格鲁吉亚|Germany=德国
Guyana=圭亚那|Hong Kong=香港|India=印度|Indonesia=印度尼西亚|Israel=以色列|Italy=意大利|Japan=日本
Kazakhstan=哈萨克斯坦|Kuwait=科威特|Kyrgyzstan=吉尔吉斯斯坦|Laos=老挝|Latvia=拉脱维亚|Libya=利比亚
Liechtenstein=列支敦士登|Lithuania=立陶宛|Luxembourg=卢森堡|Macau=澳门|Malaysia=马来西亚|Monaco=摩纳哥
Mongolia=蒙古国|Nepal=尼泊尔|Netherlands=荷兰|Nigeria=尼日利亚|North Korea=朝鲜|Norway=挪威|Pakistan=巴基斯坦
Paraguay=巴拉圭|Peru=秘鲁|Poland=波兰|Portugal=葡萄牙|Qatar=卡塔尔|Russia=俄罗斯|Saudi Arabia=沙特阿拉伯
Singapore=新加坡|South Korea=韩国|Spain=西班牙|Sudan=苏丹|Suriname=苏里南|Switzerland=瑞士|Taiwan=台湾
Tajikistan=塔吉克斯坦|Thailand=泰国|Turkey=土耳其|Ukraine=乌克兰|United Arab Emirates=阿拉伯联合酋长国
United Kingdom=英国|United States=美国|Uruguay=乌拉圭|Venezuela=委内瑞拉|Vietnam=越南
Beijing=北京|Tokyo=东京|Seoul=首尔|Ulaanbaatar=乌兰巴托|Hanoi=河内|New Delhi=新德里|Moscow=莫斯科|Berlin=柏林
Paris=巴黎|Bern=伯尔尼|Brasilia=巴西利亚|Cairo=开罗|Shanghai=上海|Chongqing=重庆|Tianjin=天津|Shenzhen=深圳
Osaka-Kobe=大阪-神户|Nagoya=名古屋|Kitakyushu-Fukuoka=北九州-福冈|Shizuoka-Hamamatsu=静冈-滨松|Sapporo=札幌
Busan=釜山|Incheon=仁川|Daegu=大邱|Daejon=大田|Gwangju=光州|Ho Chi Minh City=胡志明市|Can Tho=芹苴
Haiphong=海防|Da Nang=岘港|Bien Hoa=边和|Mumbai=孟买|Kolkata=加尔各答|Bangalore=班加罗尔|Chennai=金奈
Hyderabad=海得拉巴|Saint Petersburg=圣彼得堡|Novosibirsk=新西伯利亚|Yekaterinburg=叶卡捷琳堡
Nizhniy Novgorod=下诺夫哥罗德|Samara=萨马拉|Hamburg=汉堡|Munich=慕尼黑|Cologne=科隆|Lyon=里昂
Marseille-Aix-en-Provence=马赛-艾克斯|Lille=里尔|Nice-Cannes=尼斯-戛纳|Toulouse=图卢兹|Zurich=苏黎世
Sao Paulo=圣保罗|Rio de Janeiro=里约热内卢|Belo Horizonte=贝洛奥里藏特|Fortaleza=福塔莱萨|Recife=累西腓
Alexandria=亚历山大
Standard Chinese=普通话|Yue=粤语|Wu=吴语|Minbei=闽北语|Minnan=闽南语|Xiang=湘语|Gan=赣语|Japanese=日语|Korean=韩语
English=英语|Khalkha Mongol=喀尔喀蒙古语|Russian=俄语|Vietnamese=越南语|Hindi=印地语|Bengali=孟加拉语
Telugu=泰卢固语|Marathi=马拉地语|Tamil=泰米尔语|Urdu=乌尔都语|Gujarati=古吉拉特语|Kannada=卡纳达语
Malayalam=马拉雅拉姆语|Oriya=奥里亚语|Punjabi=旁遮普语|Assamese=阿萨姆语|Maithili=迈蒂利语|German=德语
French=法语|Italian=意大利语|Serbo-Croatian=塞尔维亚-克罗地亚语|Albanian=阿尔巴尼亚语|Portuguese=葡萄牙语
Spanish=西班牙语|Romansch=罗曼什语|Arabic=阿拉伯语|Tatar=鞑靼语|Chechen=车臣语
Mount Everest=珠穆朗玛峰|Turpan Pendi=吐鲁番盆地|Mount Fuji=富士山|Hachiro-gata=八郎潟|Halla-san=汉拿山
Sea of Japan=日本海|Nayramadlin Orgil=友谊峰|Hoh Nuur=呼赫湖|Fan Si Pan=番西邦峰|South China Sea=南海
Kanchenjunga=干城章嘉峰|Indian Ocean=印度洋|Gora El'brus=厄尔布鲁士山|Caspian Sea=里海|Zugspitze=楚格峰
Mont Blanc=勃朗峰|Rhone River delta=罗讷河三角洲|Dufourspitze=杜富尔峰|Lake Maggiore=马焦雷湖
Pico da Neblina=内布利纳峰|Atlantic Ocean=大西洋|Mount Catherine=凯瑟琳山|Qattara Depression=盖塔拉洼地
Neuendorf bei Wilster=维尔斯特附近的诺因多夫
republic=共和国|federal republic=联邦共和国|federation=联邦制国家|constitutional monarchy=君主立宪制国家
National Day=国庆日|Liberation Day=光复节|Independence Day=独立日|Republic Day=共和国日|Russia Day=俄罗斯日
Unity Day=统一日|Revolution Day=革命纪念日
coal=煤炭|iron ore=铁矿石|petroleum=石油|natural gas=天然气|mercury=汞|tin=锡|tungsten=钨|antimony=锑|manganese=锰
molybdenum=钼|vanadium=钒|magnetite=磁铁矿|aluminum=铝|lead=铅|zinc=锌|rare earth elements=稀土|uranium=铀
arable land=耕地|fish=鱼类|graphite=石墨|copper=铜|phosphates=磷酸盐|nickel=镍|fluorspar=萤石|gold=黄金
silver=白银|iron=铁|bauxite=铝土矿|chromate=铬酸盐|timber=木材|hydropower=水力资源|hydropower potential=水力资源
mica=云母|titanium ore=钛矿|chromite=铬铁矿|diamonds=钻石|limestone=石灰石|lignite=褐煤|potash=钾盐|salt=盐
construction materials=建筑材料|platinum=铂|gypsum=石膏|talc=滑石|asbestos=石棉|arsenic=砷|feldspar=长石|oil=石油
apparel=服装|furniture=家具|textiles=纺织品|integrated circuits=集成电路|motor vehicles=汽车
iron and steel products=钢铁制品|semiconductors=半导体|auto parts=汽车零件|power generating machinery=发电机械
plastic materials=塑料|petrochemicals=石化产品|ships=船舶|wireless communication equipment=无线通信设备|steel=钢铁
electronics=电子产品|plastics=塑料|computers=计算机|livestock=牲畜|animal products=畜产品|cashmere=羊绒|wool=羊毛
hides=皮革|crude oil=原油|clothes=服装|shoes=鞋类|seafood=海产品|rice=大米|coffee=咖啡|wooden products=木制品
machinery=机械|petroleum products=石油产品|precious stones=宝石|vehicles=车辆|iron and steel=钢铁|chemicals=化工产品
pharmaceutical products=药品|cereals=谷物|petroleum and petroleum products=石油及石油产品|metals=金属
wood and wood products=木材及木制品|computer and electronic products=计算机和电子产品|electrical equipment=电气设备
pharmaceuticals=药品|transport equipment=运输设备|foodstuffs=食品|rubber and plastic products=橡胶和塑料制品
machinery and transportation equipment=机械和运输设备|aircraft=飞机|beverages=饮料|watches=钟表
agricultural products=农产品|soybeans=大豆|footwear=鞋类|automobiles=汽车|crude oil and petroleum products=原油及石油产品
fruits and vegetables=水果和蔬菜|cotton=棉花|metal products=金属制品|processed food=加工食品
optical and medical equipment=光学和医疗设备|metal ores=金属矿石|liquid natural gas=液化天然气|clothing=服装
machinery and equipment=机械设备|fuel=燃料|cars=汽车|food products=食品|industrial consumer goods=工业消费品
building materials=建筑材料|cigarettes and tobacco=烟草|appliances=电器|soap and detergent=肥皂和洗涤剂
steel products=钢材|fertilizer=化肥|plastic=塑料|meat=肉类|fruits and nuts=水果和坚果|data processing equipment=数据处理设备
oil and gas=石油和天然气|electric equipment=电气设备|chemical products=化工产品|automotive parts=汽车零件
wood products=木制品|fuels=燃料|optical and medical instruments=光学和医疗仪器|semi-finished metal products=金属半成品
oil and mineral fuels=石油和矿物燃料
wheat=小麦|potatoes=马铃薯|corn=玉米|peanuts=花生|tea=茶叶|millet=小米|barley=大麦|apples=苹果|oilseed=油籽|pork=猪肉
vegetables=蔬菜|poultry=家禽|fruit=水果|fruits=水果|dairy products=乳制品|beef=牛肉|flowers=花卉|sugar cane=甘蔗
sugarcane=甘蔗|legumes=豆类|wheat and barley=小麦和大麦|root crops=块根作物|cattle=牛|pigs=猪|chickens=鸡|milk=牛奶
eggs=鸡蛋|forage crops=饲料作物|sheep=绵羊|goats=山羊|camels=骆驼|horses=马|rubber=橡胶|pepper=胡椒|cashews=腰果
bananas=香蕉|jute=黄麻|lentils=小扁豆|onions=洋葱|grain=谷物|grains=谷物|sugar beets=甜菜|sunflower seeds=葵花籽
cabbages=卷心菜|milk products=乳制品|wine grapes=酿酒葡萄|cocoa=可可|citrus=柑橘|beans=豆类|water buffalo=水牛
RMB=人民币|JPY=日元|KRW=韩元|MNT=图格里克|VND=越南盾|INR=印度卢比|RUB=俄罗斯卢布|EUR=欧元|CHF=瑞士法郎
BRL=巴西雷亚尔|EGP=埃及镑
Europe=欧洲|East and Southeast Asia=东亚和东南亚|South Asia=南亚|Central Asia=中亚|Africa=非洲|South America=南美洲
"""
ZH = dict(pair.split("=") for pair in TABLE.replace("\n", "|").split("|") if pair)
# 'Korean' and the like are languages here; peoples are not translated.
PLACE = {"Russia": "欧亚大陆北部", "Egypt": "非洲东北部", "Brazil": "南美洲东部", "China": "亚洲东部",
         "Japan": "亚洲东部", "Mongolia": "亚洲北部", "South Korea": "亚洲东部", "Vietnam": "亚洲东南部",
         "India": "亚洲南部", "France": "欧洲西部", "Germany": "欧洲中部", "Switzerland": "欧洲中部"}


def zh(name):
    return ZH.get(ALIASES.get(name, name), "")


def zh_list(items):
    return list(dict.fromkeys(w for w in map(zh, items) if w))


def number(value):
    """'1.367 billion' or '$18.09 trillion' in Chinese units, without rounding."""
    m = re.match(r"\$?(-?[\d,.]*\d)(?: (million|billion|trillion))?", value or "")
    if not m:
        return ""
    size = Decimal(m[1].replace(",", ""))
    size *= {None: 1, "million": 10**6, "billion": 10**9, "trillion": 10**12}[m[2]]
    for unit, name in ((10**12, "万亿"), (10**8, "亿"), (10**4, "万")):
        if m[2] and abs(size) >= unit:
            return f"{(size / unit).normalize():f}" + name
    return m[1]


def date(value):
    months = ("January February March April May June July August September October November "
              "December").split()
    m = re.match(r"(\d+) (\w+)(?: (\d{4}))?$", value)
    return (f"{m[3]}年" if m[3] else "") + f"{months.index(m[2]) + 1}月{m[1]}日" if m else ""


def write_chinese(world, out):
    """Write the Chinese profiles and return how many there are."""
    out.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        path = out / (name.lower().replace(" ", "-") + ".zh.md")
        path.write_text(profile(world[name]), "utf-8", newline="\n")
    return len(FILES)


def profile(e):
    n, get, lines = ZH[e.name], e.get, []

    def say(variants, **values):
        if any(v in ("", None, [], ()) for v in values.values()):
            return ""
        values = {k: "、".join(v) if isinstance(v, list) else v for k, v in values.items()}
        return variants[zlib.crc32((e.name + variants[0]).encode()) % len(variants)].format(n=n, **values)

    def para(*sentences):
        if any(sentences):
            lines.extend(["".join(s for s in sentences if s), ""])

    def table(header, rows):
        if len(rows) > 1:
            for row in [header, ["---", "---:"] + ["---"] * (len(header) - 2), *rows]:
                lines.append("| " + " | ".join(row) + " |")
            lines.append("")

    def head(level, title):
        lines.extend(["#" * level + " " + title, ""])

    head(1, n)
    para(say(["{n}位于{w}。", "{n}是{w}的一个国家。"], w=PLACE[e.name]))

    geo = lambda *p: get("Geography", *p)
    head(2, "地理")
    land, water = quantity(geo("Area", "land"), "sq km"), quantity(geo("Area", "water"), "sq km")
    high, low = (point(geo("Elevation extremes", k + " point")) for k in ("highest", "lowest"))
    shore = quantity(geo("Coastline"), "km")
    para(say(["{n}的总面积为{v}平方公里。", "{n}国土总面积{v}平方公里。"], v=quantity(geo("Area"), "sq km")),
         say(["其中陆地{a}平方公里，水域{b}平方公里。"], a=land, b=water),
         say(["海岸线长{v}公里。", "海岸线总长{v}公里。"], v="" if shore == "0" else shore),
         "这是一个没有海岸线的内陆国家。" if shore == "0" else "",
         high and say(["最高点是{p}，海拔{m}米。", "境内最高的地方是{p}，海拔{m}米。"], p=zh(high[0]), m=high[1][:-2]),
         low and say(["最低点是{p}，海拔{m}米。", "最低处为{p}，海拔{m}米。"], p=zh(low[0]), m=low[1][:-2]))
    para(say(["主要自然资源有{x}。", "自然资源包括{x}。"], x=zh_list(names(geo("Natural resources")))),
         say(["农业用地占土地面积的{a}，森林占{b}。"], a=percent(geo("Land use", "agricultural land")),
             b=percent(geo("Land use", "forest"))))

    head(2, "边界")
    near = [(zh(k), km(v)) for k, v in sorted(e.borders.items()) if zh(k)]
    total = quantity(geo("Land boundaries", "total"), "km")
    if not near:
        para(f"{n}没有陆地边界。")
    elif len(near) == 1:
        para(say(["{n}只与{x}接壤，边界长{v}公里。"], x=near[0][0], v=near[0][1]))
    else:
        longest = max(near, key=lambda p: float(p[1].replace(",", "")))
        para(say(["{n}的陆地边界总长{v}公里。", "陆地边界全长{v}公里。"], v=total),
             say(["{n}与{x}接壤。", "陆上邻国和地区有{x}。"], x=[p[0] for p in near]),
             say(["其中与{x}的边界最长，为{v}公里。"], x=longest[0], v=longest[1]))
        table(["邻国或地区", "边界长度（公里）"], near)

    people = lambda *p: get("People and Society", *p)
    head(2, "人口与语言")
    pop, life = people("Population"), people("Life expectancy at birth")
    grow = percent(people("Population growth rate"))
    para(say(["{y}年{n}人口为{v}人。", "{n}有{v}人（{y}年）。"], v=re.match(r"[\d,]*", pop)[0],
             y=year(pop) or year(get("People and Society", "Population", "note"))),
         say(["人口年增长率为{v}。"], v=grow),
         say(["出生时平均预期寿命为{v}岁。", "平均预期寿命{v}岁。"], v=quantity(life, "years")),
         say(["城镇人口占{v}。", "{v}的人口居住在城镇。"], v=percent(people("Urbanization", "urban population"))))
    cities = []
    for part in split_list(people("Major urban areas - population")):
        m = re.match(r"([^\d(]+?)\s*(?:\([^()]*\)\s*)?([\d.,]*\d(?: million)?)(?: \(|$)", part)
        if m and zh(m[1].title() if m[1].isupper() else m[1]):
            cities.append([zh(m[1].title() if m[1].isupper() else m[1]), number(m[2])])
    table(["城市", "城区人口"], cities)
    official, others = [], []
    for part in split_list(people("Languages")):
        word = re.split(r" or | widely|\d", bare(part))[0].strip()
        if zh(word):
            (official if "official" in part else others).append(zh(word))
    para(say(["官方语言是{x}。", "{x}是官方语言。"], x=official),
         say(["其他语言有{x}。", "此外还使用{x}。"] if official else ["主要语言有{x}。"] if len(others) > 1 else ["通用语言是{x}。"], x=others))
    table(["语言", "比例"], [[zh(a), b] for a, b, _ in shares(people("Languages")) if zh(a)])

    gov = lambda *p: get("Government", *p)
    head(2, "政府")
    free = re.match(r"(\d+ \w+ \d{4}) \(from (?:the )?([\w ]+)\)", gov("Independence"))
    day = re.match(r"([A-Z][^,(;/]+).*?, (\d{1,2} [A-Z]\w+)", gov("National holiday"))
    para(say(["首都是{v}。", "{n}的首都是{v}。", "{v}是{n}的首都。"], v=zh(bare(gov("Capital", "name")))),
         say(["{n}是{v}。", "从政体看，{n}是{v}。"], v=zh(bare(gov("Government type")))),
         free and say(["{d}，{n}脱离{p}独立。"], d=date(free[1]), p=zh(free[2])) or "",
         day and say(["{h}是{d}。", "每年{d}为{h}。"], h=zh(day[1].strip()), d=date(day[2])) or "",
         say(["公民年满{v}岁享有选举权。"], v=(re.match(r"\d+(?= years)", gov("Suffrage")) or [""])[0]))

    eco = lambda *p: get("Economy", *p)
    head(2, "经济")
    gdp, each = series(eco("GDP (purchasing power parity)")), series(eco("GDP - per capita (PPP)"))
    last = max(gdp)
    part = [percent(eco("GDP - composition, by sector of origin", k)) for k in ("agriculture", "industry", "services")]
    money = re.search(r"\(([A-Z]{3})\)", eco("Exchange rates"))
    para(say(["按购买力平价计算，{y}年国内生产总值为{v}美元。", "{y}年国内生产总值（购买力平价）为{v}美元。"], y=last, v=number(gdp[last])),
         say(["人均为{v}美元。"], v=number(each.get(last, ""))),
         say(["农业占国内生产总值的{a}，工业占{b}，服务业占{c}。"], a=part[0], b=part[1], c=part[2]),
         money and say(["货币是{v}。", "流通货币为{v}。"], v=zh(money[1])) or "",
         say(["主要农产品有{x}。", "农牧渔业产品包括{x}。"], x=zh_list(names(eco("Agriculture - products")))))
    table(["年份", "国内生产总值（美元，购买力平价）"], [[y, number(v)] for y, v in sorted(gdp.items(), reverse=True)])

    head(2, "贸易")
    for title, key in (("出口", "Exports"), ("进口", "Imports")):
        head(3, title)
        amount, raw = series(eco(key)), eco(key + " - partners")
        rows = [[zh(a), b] for a, b, _ in shares(raw) if zh(a)]
        last = max(amount, default="")
        para(say([f"{{y}}年{title}总额为{{v}}美元。", f"{{n}}在{{y}}年的{title}额为{{v}}美元。"], y=last, v=number(amount.get(last, ""))),
             say([f"主要{title}商品有{{x}}。", f"{title}商品包括{{x}}。"], x=zh_list(names(eco(key + " - commodities")))),
             rows and say([f"最大的{title}伙伴是{{p}}，占{{v}}。"], p=rows[0][0], v=rows[0][1]) or "")
        table([title + "伙伴", "比例"], rows)

    energy = lambda k: get("Energy", k)
    oil = quantity(energy("Crude oil - production"), "bbl/day")
    net = lambda *p: (re.match(r"[\d,.]*\d(?: million| billion)?", get("Communications", *p)) or [""])[0]
    dot = re.search(r"\.[a-z]{2}\b", get("Communications", "Internet country code"))
    head(2, "能源与通信")
    para(say(["年发电量为{v}千瓦时。", "每年发电{v}千瓦时。"], v=number(quantity(energy("Electricity - production"), "kWh"))),
         say(["原油日产量为{v}桶。"], v="" if oil in ("", "0") else number(oil)),
         say(["铁路总长{v}公里。"], v=quantity(get("Transportation", "Railways"), "km")),
         say(["互联网用户有{v}。"], v=number(net("Internet users", "total"))),
         dot and say(["互联网国家代码是`{v}`。"], v=dot[0]) or "")
    code = dot[0][1:] if dot else e.code.upper()
    region = {"Brazil": "南美洲", "Egypt": "非洲", "France": "欧洲", "Germany": "欧洲", "Switzerland": "欧洲",
              "Russia": "欧洲和亚洲"}.get(e.name, "亚洲")
    front = [f'title: "{n}"', f"region: {region}", f'code: "{code}"', "kind: country profile", "language: zh"]
    return "\n".join(["---", *front, "---", "", *lines]).rstrip() + "\n"
