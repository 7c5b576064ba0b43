package sap

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// maxSearch bounds the text of a search, in bytes.
const maxSearch = 4096

// query is a parsed search (S-25). All of its parts must hold.
type query struct {
	// words must each occur in a text of the object, in any case.
	words []string
	// active is nil if the search does not name it.
	active *bool
	times  []timeTerm
}

// timeTerm is a condition on a start or an end. An object without that time does not match.
type timeTerm struct {
	// end says that the end is compared, not the start.
	end bool
	// operator is <, >, <= or >=.
	operator string
	at       time.Time
}

// The texts of SAP for a search with a fault.
const (
	textNoQuery      = "Search query not provided"
	textUnknownField = "Field not recognized"
	textDateFormat   = "Date format must be YYYY-MM-DDTHH:mm:ss or YYYY-MM-DD"
	textActiveTwice  = "Field active specified more than once"
	textActiveValue  = "Value of active must be true or false"
	textSearchUTF8   = "Search query must be text in UTF-8"
)

var textSearchLong = fmt.Sprintf("Search query too long: at most %d bytes and %d terms", maxSearch, maxConditions)

// parseSearch parses the text of a search: words and qualifiers, separated by spaces. It returns
// all faults, in their order.
func parseSearch(text string) (q query, faults []fault) {
	if len(text) > maxSearch {
		return q, []fault{{text: textSearchLong}}
	}
	if !utf8.ValidString(text) {
		return q, []fault{{text: textSearchUTF8}}
	}
	terms := strings.Fields(text)
	switch {
	case len(terms) == 0:
		return q, []fault{{text: textNoQuery}}
	case len(terms) > maxConditions:
		return q, []fault{{text: textSearchLong}}
	}
	for _, term := range terms {
		if text := q.add(term); text != "" {
			faults = append(faults, fault{text: text})
		}
	}
	return q, faults
}

// add adds a word or a qualifier. It returns the text of a fault, or empty.
func (q *query) add(term string) string {
	field, value, qualified := strings.Cut(term, ":")
	if !qualified {
		q.words = append(q.words, term)
		return ""
	}
	switch field {
	case "active":
		if q.active != nil {
			return textActiveTwice
		}
		if value != "true" && value != "false" {
			return textActiveValue
		}
		active := value == "true"
		q.active = &active
	case "startTime", "endTime":
		digits := strings.TrimLeft(value, "<>=")
		t := timeTerm{end: field == "endTime", operator: value[:len(value)-len(digits)]}
		switch t.operator {
		case "<", ">", "<=", ">=":
		default:
			return "Operator not specified for " + field
		}
		var ok bool
		if t.at, ok = searchDate(digits); !ok {
			return textDateFormat
		}
		q.times = append(q.times, t)
	default:
		return textUnknownField
	}
	return ""
}

// searchDate parses a date of a search, in UTC.
func searchDate(text string) (time.Time, bool) {
	layout := "2006-01-02T15:04:05"
	if len(text) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	if len(text) != len(layout) {
		return time.Time{}, false // time.Parse would accept fractions of a second
	}
	at, err := time.Parse(layout, text)
	return at, err == nil && at.Year() > 0
}
