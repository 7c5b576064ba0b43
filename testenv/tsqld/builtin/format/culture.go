package format

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/text/language"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Culture is the part of .NET's CultureInfo that FORMAT uses: NumberFormatInfo and
// DateTimeFormatInfo. A Culture does not change.
type Culture struct {
	Decimal, Group string
	Currency       string // the symbol
	Cents          int    // fractional digits of amounts
	// The patterns have n for the number and $ for the symbol, in the order of .NET's enumerations
	// CurrencyPositivePattern and others.
	Positive, Negative string
	Percent            string // n for the number
	// The patterns of dates: d, D, t, T, M and Y.
	ShortDate, LongDate, ShortTime, LongTime, MonthDay, YearMonth string
	DateMark                                                      string // the separator for which a slash stands
	AM, PM                                                        string
	Months, ShortMonths, Days, ShortDays                          names // January and Sunday first
	Genitive                                                      names // the names of months behind a day; nil for the same names
}

// names is a list of names, in the file a text with blanks between them.
type names []string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *names) UnmarshalText(text []byte) error {
	*n = strings.Fields(string(text))
	return nil
}

// culturesFile has the supported cultures by lower-case name. golang.org/x/text has no patterns of
// dates and currencies, so the file has the values of .NET Framework on Windows, which SQL Server
// calls ("FORMAT (Transact-SQL)": it relies on the .NET Framework common language runtime).
//
//go:embed cultures.json
var culturesFile []byte

// cultures returns the content of culturesFile.
var cultures = sync.OnceValue(func() map[string]*Culture {
	var all map[string]*Culture
	if err := json.Unmarshal(culturesFile, &all); err != nil {
		panic(fmt.Errorf("cultures.json: %w", err))
	}
	return all
})

// invariant returns the invariant culture.
func invariant() *Culture { return cultures()[""] }

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
	if c := cultures()[folded]; c != nil {
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
	if c := cultures()[languageCultures[l.Alias]]; c != nil && c != invariant() {
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
	if c.Decimal == "." && c.Group == "," {
		return s
	}
	return strings.NewReplacer(".", c.Decimal, ",", c.Group).Replace(s)
}

// amount writes an amount of money. negative is set for amounts below zero.
func (c *Culture) amount(number string, negative bool) string {
	pattern := c.Positive
	if negative {
		pattern = c.Negative
	}
	return strings.NewReplacer("n", c.number(number), "$", c.Currency).Replace(pattern)
}

// datePattern returns the pattern for which a letter stands.
func (c *Culture) datePattern(letter string) (string, bool) {
	switch letter {
	case "d":
		return c.ShortDate, true
	case "D":
		return c.LongDate, true
	case "f":
		return c.LongDate + " " + c.ShortTime, true
	case "F", "U":
		return c.LongDate + " " + c.LongTime, true
	case "g":
		return c.ShortDate + " " + c.ShortTime, true
	case "G":
		return c.ShortDate + " " + c.LongTime, true
	case "m", "M":
		return c.MonthDay, true
	case "t":
		return c.ShortTime, true
	case "T":
		return c.LongTime, true
	case "y", "Y":
		return c.YearMonth, true
	}
	pattern, ok := invariantDates[letter]
	return pattern, ok
}

// invariantDates are the standard date formats that are the same in all cultures.
var invariantDates = map[string]string{
	"o": "yyyy-MM-ddTHH:mm:ss.fffffffK", "O": "yyyy-MM-ddTHH:mm:ss.fffffffK", "s": "yyyy-MM-ddTHH:mm:ss", "u": "yyyy-MM-dd HH:mm:ss'Z'",
	"r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'", "R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
}
