package types

import (
	_ "embed"
	"strconv"
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
func Languages() []Language { return languages }

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

// languageRows are the rows of "sys.syslanguages (Transact-SQL)", by langid.
//
//go:embed languages.txt
var languageRows string

// languages are the languages by ID.
var languages = readLanguages(languageRows)

// readLanguages reads the rows of a table with a header.
func readLanguages(table string) (list []Language) {
	rows := strings.Split(strings.TrimSpace(table), "\n")
	for _, row := range rows[1:] {
		f := strings.Split(row, "\t")
		l := Language{Name: f[1], Alias: f[2]}
		l.Order, _ = DateOrderByName(f[3])
		for i, n := range []*int{&l.FirstDay, &l.LCID, &l.MessageLCID} {
			*n, _ = strconv.Atoi(f[4+i])
		}
		l.ID = uint8(len(list))
		copy(l.months[:], strings.Split(f[7], ","))
		copy(l.short[:], strings.Split(f[8], ","))
		days := strings.Split(f[9], ",")
		copy(l.days[:], append(days[6:], days[:6]...))
		list = append(list, l)
	}
	return list
}
