package format

import (
	"strings"

	"golang.org/x/text/language"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Culture is the part of .NET's CultureInfo that FORMAT uses: NumberFormatInfo and
// DateTimeFormatInfo. A Culture does not change.
type Culture struct {
	decimal, group string
	currency       string // the symbol
	cents          int    // fractional digits of amounts
	// The patterns have n for the number and $ for the symbol, in the order of .NET's enumerations
	// CurrencyPositivePattern and others.
	positive, negative string
	percent            string // n for the number
	// The patterns of dates: d, D, t, T, M and Y.
	shortDate, longDate, shortTime, longTime, monthDay, yearMonth string
	dateMark                                                      string // the separator for which a slash stands
	am, pm                                                        string
	months, shortMonths, days, shortDays                          []string // January and Sunday first
	genitive                                                      []string // the names of months behind a day; nil for the same names
}

// words splits a list of names at blanks.
func words(s string) []string { return strings.Fields(s) }

// cultures are the supported cultures by lower-case name. golang.org/x/text has no patterns of
// dates and currencies, so the table has the values of .NET Framework on Windows, which SQL Server
// calls ("FORMAT (Transact-SQL)": it relies on the .NET Framework common language runtime).
var cultures = map[string]*Culture{
	"": {
		decimal: ".", group: ",", currency: "¤", cents: 2, positive: "$n", negative: "($n)", percent: "n %",
		shortDate: "MM/dd/yyyy", longDate: "dddd, dd MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "MMMM dd", yearMonth: "yyyy MMMM", dateMark: "/", am: "AM", pm: "PM",
		months: englishMonths, shortMonths: englishShortMonths, days: englishDays, shortDays: englishShortDays,
	},
	"en-us": {
		decimal: ".", group: ",", currency: "$", cents: 2, positive: "$n", negative: "($n)", percent: "n%",
		shortDate: "M/d/yyyy", longDate: "dddd, MMMM d, yyyy", shortTime: "h:mm tt", longTime: "h:mm:ss tt",
		monthDay: "MMMM d", yearMonth: "MMMM yyyy", dateMark: "/", am: "AM", pm: "PM",
		months: englishMonths, shortMonths: englishShortMonths, days: englishDays, shortDays: englishShortDays,
	},
	"en-gb": {
		decimal: ".", group: ",", currency: "£", cents: 2, positive: "$n", negative: "-$n", percent: "n%",
		shortDate: "dd/MM/yyyy", longDate: "dd MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy", dateMark: "/", am: "AM", pm: "PM",
		months: englishMonths, shortMonths: englishShortMonths, days: englishDays, shortDays: englishShortDays,
	},
	"de-de": {
		decimal: ",", group: ".", currency: "€", cents: 2, positive: "n $", negative: "-n $", percent: "n %",
		shortDate: "dd.MM.yyyy", longDate: "dddd, d. MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d. MMMM", yearMonth: "MMMM yyyy", dateMark: ".",
		months:      words("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
		shortMonths: words("Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez"),
		days:        words("Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag"),
		shortDays:   words("So Mo Di Mi Do Fr Sa"),
	},
	"fr-fr": {
		decimal: ",", group: "\u00a0", currency: "€", cents: 2, positive: "n $", negative: "-n $", percent: "n %",
		shortDate: "dd/MM/yyyy", longDate: "dddd d MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy", dateMark: "/",
		months:      words("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
		shortMonths: words("janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."),
		days:        words("dimanche lundi mardi mercredi jeudi vendredi samedi"),
		shortDays:   words("dim. lun. mar. mer. jeu. ven. sam."),
	},
	"es-es": {
		decimal: ",", group: ".", currency: "€", cents: 2, positive: "n $", negative: "-n $", percent: "n %",
		shortDate: "dd/MM/yyyy", longDate: "dddd, d' de 'MMMM' de 'yyyy", shortTime: "H:mm", longTime: "H:mm:ss",
		monthDay: "d' de 'MMMM", yearMonth: "MMMM' de 'yyyy", dateMark: "/",
		months:      words("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
		shortMonths: words("ene. feb. mar. abr. may. jun. jul. ago. sep. oct. nov. dic."),
		days:        words("domingo lunes martes miércoles jueves viernes sábado"),
		shortDays:   words("do. lu. ma. mi. ju. vi. sá."),
	},
	"it-it": {
		decimal: ",", group: ".", currency: "€", cents: 2, positive: "n $", negative: "-n $", percent: "n%",
		shortDate: "dd/MM/yyyy", longDate: "dddd d MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy", dateMark: "/",
		months:      words("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
		shortMonths: words("gen feb mar apr mag giu lug ago set ott nov dic"),
		days:        words("domenica lunedì martedì mercoledì giovedì venerdì sabato"),
		shortDays:   words("dom lun mar mer gio ven sab"),
	},
	"nl-nl": {
		decimal: ",", group: ".", currency: "€", cents: 2, positive: "$ n", negative: "$ -n", percent: "n%",
		shortDate: "d-M-yyyy", longDate: "dddd d MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy", dateMark: "-",
		months:      words("januari februari maart april mei juni juli augustus september oktober november december"),
		shortMonths: words("jan feb mrt apr mei jun jul aug sep okt nov dec"),
		days:        words("zondag maandag dinsdag woensdag donderdag vrijdag zaterdag"),
		shortDays:   words("zo ma di wo do vr za"),
	},
	"pt-br": {
		decimal: ",", group: ".", currency: "R$", cents: 2, positive: "$ n", negative: "-$ n", percent: "n%",
		shortDate: "dd/MM/yyyy", longDate: "dddd, d' de 'MMMM' de 'yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d' de 'MMMM", yearMonth: "MMMM' de 'yyyy", dateMark: "/",
		months:      words("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
		shortMonths: words("jan fev mar abr mai jun jul ago set out nov dez"),
		days:        words("domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado"),
		shortDays:   words("dom seg ter qua qui sex sáb"),
	},
	"sv-se": {
		decimal: ",", group: "\u00a0", currency: "kr", cents: 2, positive: "n $", negative: "-n $", percent: "n %",
		shortDate: "yyyy-MM-dd", longDate: "'den 'd MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "'den 'd MMMM", yearMonth: "MMMM yyyy", dateMark: "-",
		months:      words("januari februari mars april maj juni juli augusti september oktober november december"),
		shortMonths: words("jan feb mar apr maj jun jul aug sep okt nov dec"),
		days:        words("söndag måndag tisdag onsdag torsdag fredag lördag"),
		shortDays:   words("sö må ti on to fr lö"),
	},
	"ja-jp": {
		decimal: ".", group: ",", currency: "¥", cents: 0, positive: "$n", negative: "-$n", percent: "n%",
		shortDate: "yyyy/MM/dd", longDate: "yyyy'年'M'月'd'日'", shortTime: "H:mm", longTime: "H:mm:ss",
		monthDay: "M'月'd'日'", yearMonth: "yyyy'年'M'月'", dateMark: "/", am: "午前", pm: "午後",
		months:      words("1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月"),
		shortMonths: words("1 2 3 4 5 6 7 8 9 10 11 12"),
		days:        words("日曜日 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日"),
		shortDays:   words("日 月 火 水 木 金 土"),
	},
	"zh-cn": {
		decimal: ".", group: ",", currency: "¥", cents: 2, positive: "$n", negative: "$-n", percent: "n%",
		shortDate: "yyyy/M/d", longDate: "yyyy'年'M'月'd'日'", shortTime: "H:mm", longTime: "H:mm:ss",
		monthDay: "M'月'd'日'", yearMonth: "yyyy'年'M'月'", dateMark: "/", am: "上午", pm: "下午",
		months:      words("一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月"),
		shortMonths: words("1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月"),
		days:        words("星期日 星期一 星期二 星期三 星期四 星期五 星期六"),
		shortDays:   words("周日 周一 周二 周三 周四 周五 周六"),
	},
	"ru-ru": {
		decimal: ",", group: "\u00a0", currency: "₽", cents: 2, positive: "n $", negative: "-n $", percent: "n%",
		shortDate: "dd.MM.yyyy", longDate: "d MMMM yyyy 'г.'", shortTime: "H:mm", longTime: "H:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy", dateMark: ".",
		months:      words("Январь Февраль Март Апрель Май Июнь Июль Август Сентябрь Октябрь Ноябрь Декабрь"),
		genitive:    words("января февраля марта апреля мая июня июля августа сентября октября ноября декабря"),
		shortMonths: words("янв фев мар апр май июн июл авг сен окт ноя дек"),
		days:        words("воскресенье понедельник вторник среда четверг пятница суббота"),
		shortDays:   words("Вс Пн Вт Ср Чт Пт Сб"),
	},
	"pl-pl": {
		decimal: ",", group: "\u00a0", currency: "zł", cents: 2, positive: "n $", negative: "-n $", percent: "n%",
		shortDate: "dd.MM.yyyy", longDate: "d MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy", dateMark: ".",
		months:      words("styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień"),
		genitive:    words("stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia"),
		shortMonths: words("sty lut mar kwi maj cze lip sie wrz paź lis gru"),
		days:        words("niedziela poniedziałek wtorek środa czwartek piątek sobota"),
		shortDays:   words("N Pn Wt Śr Cz Pt So"),
	},
	"da-dk": {
		decimal: ",", group: ".", currency: "kr.", cents: 2, positive: "n $", negative: "-n $", percent: "n %",
		shortDate: "dd-MM-yyyy", longDate: "d. MMMM yyyy", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d. MMMM", yearMonth: "MMMM yyyy", dateMark: "-",
		months:      words("januar februar marts april maj juni juli august september oktober november december"),
		shortMonths: words("jan feb mar apr maj jun jul aug sep okt nov dec"),
		days:        words("søndag mandag tirsdag onsdag torsdag fredag lørdag"),
		shortDays:   words("sø ma ti on to fr lø"),
	},
	"tr-tr": {
		decimal: ",", group: ".", currency: "₺", cents: 2, positive: "$n", negative: "-$n", percent: "%n",
		shortDate: "d.MM.yyyy", longDate: "d MMMM yyyy dddd", shortTime: "HH:mm", longTime: "HH:mm:ss",
		monthDay: "d MMMM", yearMonth: "MMMM yyyy", dateMark: ".", am: "ÖÖ", pm: "ÖS",
		months:      words("Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık"),
		shortMonths: words("Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara"),
		days:        words("Pazar Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi"),
		shortDays:   words("Paz Pzt Sal Çar Per Cum Cmt"),
	},
}

// The English names.
var (
	englishMonths      = words("January February March April May June July August September October November December")
	englishShortMonths = words("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
	englishDays        = words("Sunday Monday Tuesday Wednesday Thursday Friday Saturday")
	englishShortDays   = words("Sun Mon Tue Wed Thu Fri Sat")
)

// invariant is the invariant culture.
var invariant = cultures[""]

// neutralCultures are the cultures of names without a region.
var neutralCultures = map[string]string{
	"en": "en-us", "de": "de-de", "fr": "fr-fr", "es": "es-es", "it": "it-it", "nl": "nl-nl", "pt": "pt-br", "sv": "sv-se",
	"ja": "ja-jp", "zh": "zh-cn", "ru": "ru-ru", "pl": "pl-pl", "da": "da-dk", "tr": "tr-tr",
}

// languageCultures are the cultures of the session's languages ("FORMAT (Transact-SQL)": without a
// culture, the language of the current session is used), by the language's alias.
var languageCultures = map[string]string{
	"English": "en-us", "British English": "en-gb", "German": "de-de", "French": "fr-fr", "Spanish": "es-es", "Italian": "it-it",
	"Dutch": "nl-nl", "Brazilian": "pt-br", "Swedish": "sv-se", "Japanese": "ja-jp", "Simplified Chinese": "zh-cn",
	"Russian": "ru-ru", "Polish": "pl-pl", "Danish": "da-dk", "Turkish": "tr-tr",
}

// Named returns a culture by its name in any case, with or without a region. Errors: 9818 for a
// name that is none, 40517 for a culture that is not in the table.
func Named(name string) (*Culture, error) {
	folded := strings.ToLower(name)
	if full := neutralCultures[folded]; full != "" {
		folded = full
	}
	if c := cultures[folded]; c != nil {
		return c, nil
	}
	if _, err := language.Parse(name); err != nil {
		return nil, mserr.UnknownCulture(name)
	}
	return nil, mserr.NotSupported("the culture %s", name)
}

// OfLanguage returns the culture of a session's language. Error 40517 for a language whose culture
// is not in the table.
func OfLanguage(l *types.Language) (*Culture, error) {
	if c := cultures[languageCultures[l.Alias]]; c != nil && c != invariant {
		return c, nil
	}
	return nil, mserr.NotSupported("the culture of the language %s", l.Name)
}

const (
	// formatBytes is the most memory that a byte of a format takes: an item of a pattern, that of
	// another section, and digits by which a number is scaled.
	formatBytes = 128
	// partWork is the cost of reading and writing a part of a format, in steps of
	// [meter.Meter.Work].
	partWork = 16
)

// Print prints a number or date v of type t in one of .NET's formats. m is the account of the
// session and may be nil. ok is false for an invalid format. Errors: 701, and that of a canceled
// request.
func (c *Culture) Print(m *meter.Meter, v types.Value, t types.Type, format string) (s string, ok bool, err error) {
	if len(format) > meter.Small/formatBytes {
		if err := m.Take(formatBytes * len(format)); err != nil {
			return "", false, err
		}
	}
	if t.IsTemporal() {
		return c.temporal(m, v, t, format)
	}
	return c.anyNumber(m, v, t, format)
}

// number replaces the point and the commas of a number.
func (c *Culture) number(s string) string {
	if c.decimal == "." && c.group == "," {
		return s
	}
	return strings.NewReplacer(".", c.decimal, ",", c.group).Replace(s)
}

// amount writes an amount of money. negative is set for amounts below zero.
func (c *Culture) amount(number string, negative bool) string {
	pattern := c.positive
	if negative {
		pattern = c.negative
	}
	return strings.NewReplacer("n", c.number(number), "$", c.currency).Replace(pattern)
}

// datePattern returns the pattern for which a letter stands.
func (c *Culture) datePattern(letter string) (string, bool) {
	switch letter {
	case "d":
		return c.shortDate, true
	case "D":
		return c.longDate, true
	case "f":
		return c.longDate + " " + c.shortTime, true
	case "F", "U":
		return c.longDate + " " + c.longTime, true
	case "g":
		return c.shortDate + " " + c.shortTime, true
	case "G":
		return c.shortDate + " " + c.longTime, true
	case "m", "M":
		return c.monthDay, true
	case "t":
		return c.shortTime, true
	case "T":
		return c.longTime, true
	case "y", "Y":
		return c.yearMonth, true
	}
	pattern, ok := invariantDates[letter]
	return pattern, ok
}

// invariantDates are the standard date formats that are the same in all cultures.
var invariantDates = map[string]string{
	"o": "yyyy-MM-ddTHH:mm:ss.fffffffK", "O": "yyyy-MM-ddTHH:mm:ss.fffffffK", "s": "yyyy-MM-ddTHH:mm:ss", "u": "yyyy-MM-dd HH:mm:ss'Z'",
	"r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'", "R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
}
