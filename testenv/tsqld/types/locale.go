package types

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// DateOrder is the order of year, month and day in numeric dates (SET DATEFORMAT).
type DateOrder uint8

// The orders of "SET DATEFORMAT (Transact-SQL)".
const (
	MDY DateOrder = iota
	DMY
	YMD
	YDM
	MYD
	DYM
)

// orderNames are the names of the orders in SET DATEFORMAT.
var orderNames = [...]string{"mdy", "dmy", "ymd", "ydm", "myd", "dym"}

// String returns the name of the order in SET DATEFORMAT.
func (o DateOrder) String() string { return orderNames[o] }

// DateOrderByName finds an order by its name in any case.
func DateOrderByName(name string) (DateOrder, bool) {
	for i, n := range orderNames {
		if strings.EqualFold(n, name) {
			return DateOrder(i), true
		}
	}
	return 0, false
}

// Locale is what the meaning of a date text depends on, apart from its style: the language of names
// and the order of numbers. The zero value is that of us_english.
type Locale struct {
	Language uint8 // Language.ID
	Order    DateOrder
}

// Language is a row of sys.syslanguages.
type Language struct {
	ID          uint8
	Name, Alias string
	Order       DateOrder
	FirstDay    int // 1 Monday to 7 Sunday
	LCID        int
	MessageLCID int
	months      [12]string
	short       [12]string
	days        [7]string // Sunday first
}

// Month returns the name of a month, 1 to 12.
func (l *Language) Month(month int) string { return l.months[month-1] }

// ShortMonth returns the short name of a month, 1 to 12.
func (l *Language) ShortMonth(month int) string { return l.short[month-1] }

// Day returns the name of a day of the week, 0 (Sunday) to 6.
func (l *Language) Day(weekday int) string { return l.days[weekday] }

// Months returns the list of months in sys.syslanguages.
func (l *Language) Months() string { return strings.Join(l.months[:], ",") }

// ShortMonths returns the list of short month names in sys.syslanguages.
func (l *Language) ShortMonths() string { return strings.Join(l.short[:], ",") }

// Days returns the list of the days of the week in sys.syslanguages, which begins with Monday.
func (l *Language) Days() string { return strings.Join(append(l.days[1:7:7], l.days[0]), ",") }

// Locale returns the locale of a session with the language.
func (l *Language) Locale() Locale { return Locale{l.ID, l.Order} }

// LanguageOf returns the language of a locale.
func LanguageOf(l Locale) *Language { return &languages[l.Language] }

// LanguageByName finds a language by its name or alias in any case; nil for an unknown one.
func LanguageByName(name string) *Language {
	for i := range languages {
		if l := &languages[i]; strings.EqualFold(l.Name, name) || strings.EqualFold(l.Alias, name) {
			return l
		}
	}
	return nil
}

// Languages returns all languages by ID.
func Languages() []Language { return languages[:] }

// monthPrefix finds the month with the longest name or short name at the beginning of s, and
// returns the length of that name in s; 0 for none. A letter must not follow.
func (l *Language) monthPrefix(s string) (month, length int) {
	for m := range l.months {
		for _, name := range [...]string{l.months[m], l.short[m]} {
			n := foldedPrefix(s, name)
			if n <= length {
				continue
			}
			if r, _ := utf8.DecodeRuneInString(s[n:]); !unicode.IsLetter(r) {
				month, length = m+1, n
			}
		}
	}
	return month, length
}

// foldedPrefix returns the length of prefix at the beginning of s in any case; 0 if s does not
// begin with it.
func foldedPrefix(s, prefix string) int {
	n := 0
	for range prefix {
		_, size := utf8.DecodeRuneInString(s[n:])
		n += size
	}
	if !strings.EqualFold(s[:n], prefix) {
		return 0
	}
	return n
}

// english are the names of us_english.
const (
	englishMonths = "January,February,March,April,May,June,July,August,September,October,November,December"
	englishShort  = "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec"
	englishDays   = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"
	numberMonths  = "01,02,03,04,05,06,07,08,09,10,11,12"
	romanMonths   = "I,II,III,IV,V,VI,VII,VIII,IX,X,XI,XII"
)

// languages are the rows of "sys.syslanguages (Transact-SQL)" by langid. Months and days begin with
// January and Monday.
var languages = [...]Language{
	lang(0, "us_english", "English", MDY, 7, 1033, englishMonths, englishShort, englishDays),
	lang(1, "Deutsch", "German", DMY, 1, 1031, "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember",
		"Jan,Feb,Mär,Apr,Mai,Jun,Jul,Aug,Sep,Okt,Nov,Dez", "Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag,Sonntag"),
	lang(2, "Français", "French", DMY, 1, 1036, "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre",
		"janv,févr,mars,avr,mai,juin,juil,août,sept,oct,nov,déc", "lundi,mardi,mercredi,jeudi,vendredi,samedi,dimanche"),
	lang(3, "日本語", "Japanese", YMD, 7, 1041, numberMonths, numberMonths, "月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日"),
	lang(4, "Dansk", "Danish", DMY, 1, 1030, "januar,februar,marts,april,maj,juni,juli,august,september,oktober,november,december",
		"jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec", "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag"),
	lang(5, "Español", "Spanish", DMY, 1, 3082, "Enero,Febrero,Marzo,Abril,Mayo,Junio,Julio,Agosto,Septiembre,Octubre,Noviembre,Diciembre",
		"Ene,Feb,Mar,Abr,May,Jun,Jul,Ago,Sep,Oct,Nov,Dic", "Lunes,Martes,Miércoles,Jueves,Viernes,Sábado,Domingo"),
	lang(6, "Italiano", "Italian", DMY, 1, 1040, "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre",
		"gen,feb,mar,apr,mag,giu,lug,ago,set,ott,nov,dic", "lunedì,martedì,mercoledì,giovedì,venerdì,sabato,domenica"),
	lang(7, "Nederlands", "Dutch", DMY, 1, 1043, "januari,februari,maart,april,mei,juni,juli,augustus,september,oktober,november,december",
		"jan,feb,mrt,apr,mei,jun,jul,aug,sep,okt,nov,dec", "maandag,dinsdag,woensdag,donderdag,vrijdag,zaterdag,zondag"),
	lang(8, "Norsk", "Norwegian", DMY, 1, 2068, "januar,februar,mars,april,mai,juni,juli,august,september,oktober,november,desember",
		"jan,feb,mar,apr,mai,jun,jul,aug,sep,okt,nov,des", "mandag,tirsdag,onsdag,torsdag,fredag,lørdag,søndag"),
	lang(9, "Português", "Portuguese", DMY, 7, 2070, "janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro",
		"jan,fev,mar,abr,mai,jun,jul,ago,set,out,nov,dez", "segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado,domingo"),
	lang(10, "Suomi", "Finnish", DMY, 1, 1035, "tammikuuta,helmikuuta,maaliskuuta,huhtikuuta,toukokuuta,kesäkuuta,heinäkuuta,elokuuta,syyskuuta,lokakuuta,marraskuuta,joulukuuta",
		"tammi,helmi,maalis,huhti,touko,kesä,heinä,elo,syys,loka,marras,joulu", "maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai"),
	lang(11, "Svenska", "Swedish", YMD, 1, 1053, "januari,februari,mars,april,maj,juni,juli,augusti,september,oktober,november,december",
		"jan,feb,mar,apr,maj,jun,jul,aug,sep,okt,nov,dec", "måndag,tisdag,onsdag,torsdag,fredag,lördag,söndag"),
	lang(12, "čeština", "Czech", DMY, 1, 1029, "leden,únor,březen,duben,květen,červen,červenec,srpen,září,říjen,listopad,prosinec",
		romanMonths, "pondělí,úterý,středa,čtvrtek,pátek,sobota,neděle"),
	lang(13, "magyar", "Hungarian", YMD, 1, 1038, "január,február,március,április,május,június,július,augusztus,szeptember,október,november,december",
		"jan,febr,márc,ápr,máj,jún,júl,aug,szept,okt,nov,dec", "hétfő,kedd,szerda,csütörtök,péntek,szombat,vasárnap"),
	lang(14, "polski", "Polish", DMY, 1, 1045, "styczeń,luty,marzec,kwiecień,maj,czerwiec,lipiec,sierpień,wrzesień,październik,listopad,grudzień",
		romanMonths, "poniedziałek,wtorek,środa,czwartek,piątek,sobota,niedziela"),
	lang(15, "română", "Romanian", DMY, 1, 1048, "ianuarie,februarie,martie,aprilie,mai,iunie,iulie,august,septembrie,octombrie,noiembrie,decembrie",
		"Ian,Feb,Mar,Apr,Mai,Iun,Iul,Aug,Sep,Oct,Nov,Dec", "luni,marţi,miercuri,joi,vineri,sîmbătă,duminică"),
	lang(16, "hrvatski", "Croatian", YMD, 1, 1050, "siječanj,veljača,ožujak,travanj,svibanj,lipanj,srpanj,kolovoz,rujan,listopad,studeni,prosinac",
		"sij,vel,ožu,tra,svi,lip,srp,kol,ruj,lis,stu,pro", "ponedjeljak,utorak,srijeda,četvrtak,petak,subota,nedjelja"),
	lang(17, "slovenčina", "Slovak", DMY, 1, 1051, "január,február,marec,apríl,máj,jún,júl,august,september,október,november,december",
		romanMonths, "pondelok,utorok,streda,štvrtok,piatok,sobota,nedeľa"),
	lang(18, "slovenski", "Slovenian", DMY, 1, 1060, "januar,februar,marec,april,maj,junij,julij,avgust,september,oktober,november,december",
		"jan,feb,mar,apr,maj,jun,jul,avg,sept,okt,nov,dec", "ponedeljek,torek,sreda,četrtek,petek,sobota,nedelja"),
	lang(19, "ελληνικά", "Greek", DMY, 1, 1032, "Ιανουαρίου,Φεβρουαρίου,Μαρτίου,Απριλίου,Μαΐου,Ιουνίου,Ιουλίου,Αυγούστου,Σεπτεμβρίου,Οκτωβρίου,Νοεμβρίου,Δεκεμβρίου",
		"Ιαν,Φεβ,Μαρ,Απρ,Μαϊ,Ιουν,Ιουλ,Αυγ,Σεπ,Οκτ,Νοε,Δεκ", "Δευτέρα,Τρίτη,Τετάρτη,Πέμπτη,Παρασκευή,Σάββατο,Κυριακή"),
	lang(20, "български", "Bulgarian", DMY, 1, 1026, "януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември",
		"януари,февруари,март,април,май,юни,юли,август,септември,октомври,ноември,декември", "понеделник,вторник,сряда,четвъртък,петък,събота,неделя"),
	lang(21, "русский", "Russian", DMY, 1, 1049, "Январь,Февраль,Март,Апрель,Май,Июнь,Июль,Август,Сентябрь,Октябрь,Ноябрь,Декабрь",
		"янв,фев,мар,апр,май,июн,июл,авг,сен,окт,ноя,дек", "понедельник,вторник,среда,четверг,пятница,суббота,воскресенье"),
	lang(22, "Türkçe", "Turkish", DMY, 1, 1055, "Ocak,Şubat,Mart,Nisan,Mayıs,Haziran,Temmuz,Ağustos,Eylül,Ekim,Kasım,Aralık",
		"Oca,Şub,Mar,Nis,May,Haz,Tem,Ağu,Eyl,Eki,Kas,Ara", "Pazartesi,Salı,Çarşamba,Perşembe,Cuma,Cumartesi,Pazar"),
	lang(23, "British", "British English", DMY, 1, 2057, englishMonths, englishShort, englishDays),
	lang(24, "eesti", "Estonian", DMY, 1, 1061, "jaanuar,veebruar,märts,aprill,mai,juuni,juuli,august,september,oktoober,november,detsember",
		"jaan,veebr,märts,apr,mai,juuni,juuli,aug,sept,okt,nov,dets", "esmaspäev,teisipäev,kolmapäev,neljapäev,reede,laupäev,pühapäev"),
	lang(25, "latviešu", "Latvian", YMD, 1, 1062, "janvāris,februāris,marts,aprīlis,maijs,jūnijs,jūlijs,augusts,septembris,oktobris,novembris,decembris",
		"jan,feb,mar,apr,mai,jūn,jūl,aug,sep,okt,nov,dec", "pirmdiena,otrdiena,trešdiena,ceturtdiena,piektdiena,sestdiena,svētdiena"),
	lang(26, "lietuvių", "Lithuanian", YMD, 1, 1063, "sausis,vasaris,kovas,balandis,gegužė,birželis,liepa,rugpjūtis,rugsėjis,spalis,lapkritis,gruodis",
		"sau,vas,kov,bal,geg,bir,lie,rgp,rgs,spl,lap,grd", "pirmadienis,antradienis,trečiadienis,ketvirtadienis,penktadienis,šeštadienis,sekmadienis"),
	lang(27, "Português (Brasil)", "Brazilian", DMY, 7, 1046, "Janeiro,Fevereiro,Março,Abril,Maio,Junho,Julho,Agosto,Setembro,Outubro,Novembro,Dezembro",
		"Jan,Fev,Mar,Abr,Mai,Jun,Jul,Ago,Set,Out,Nov,Dez", "Segunda-Feira,Terça-Feira,Quarta-Feira,Quinta-Feira,Sexta-Feira,Sábado,Domingo"),
	lang(28, "繁體中文", "Traditional Chinese", YMD, 7, 1028, numberMonths, numberMonths, "星期一,星期二,星期三,星期四,星期五,星期六,星期日"),
	lang(29, "한국어", "Korean", YMD, 7, 1042, numberMonths, numberMonths, "월요일,화요일,수요일,목요일,금요일,토요일,일요일"),
	lang(30, "简体中文", "Simplified Chinese", YMD, 7, 2052, numberMonths, numberMonths, "星期一,星期二,星期三,星期四,星期五,星期六,星期日"),
	lang(31, "Arabic", "Arabic", DMY, 1, 1025, englishMonths, englishShort, englishDays),
	lang(32, "ไทย", "Thai", DMY, 7, 1054, "มกราคม,กุมภาพันธ์,มีนาคม,เมษายน,พฤษภาคม,มิถุนายน,กรกฎาคม,สิงหาคม,กันยายน,ตุลาคม,พฤศจิกายน,ธันวาคม",
		"ม.ค.,ก.พ.,มี.ค.,เม.ย.,พ.ค.,มิ.ย.,ก.ค.,ส.ค.,ก.ย.,ต.ค.,พ.ย.,ธ.ค.", "จันทร์,อังคาร,พุธ,พฤหัสบดี,ศุกร์,เสาร์,อาทิตย์"),
}

// lang makes a row of languages.
func lang(id uint8, name, alias string, order DateOrder, firstDay, lcid int, months, short, days string) Language {
	l := Language{ID: id, Name: name, Alias: alias, Order: order, FirstDay: firstDay, LCID: lcid, MessageLCID: lcid}
	if name == "British" { // its messages are those of us_english
		l.MessageLCID = 1033
	}
	copy(l.months[:], strings.Split(months, ","))
	copy(l.short[:], strings.Split(short, ","))
	d := strings.Split(days, ",")
	copy(l.days[:], append(d[6:], d[:6]...))
	return l
}
