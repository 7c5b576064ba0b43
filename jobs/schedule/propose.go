package schedule

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What is nearest to a wrong text (D-E5). Nothing is proposed that would be refused itself.

// clamp is the number from low to high that is nearest to a written one; 0 is none where there are negative ones. Empty when
// the text is no number.
func clamp(text string, low, high int) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) {
		return ""
	}
	nearest := int(math.Round(min(max(n, float64(low)), float64(high))))
	if nearest == 0 && low < 0 {
		nearest = 1
	}
	return strconv.Itoa(nearest)
}

var (
	unsignedWords = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)
	signedWords   = regexp.MustCompile(`-?[0-9]+|[A-Za-z]+`)
)

// repaired is one part of a cron field with its numbers and names replaced by the nearest allowed ones; empty when that makes
// no right part.
func repaired(part string, low, high int, names []string, right func(part string) bool) string {
	words := unsignedWords
	if low < 0 {
		words = signedWords
	}
	body, step, hasStep := strings.Cut(part, "/")
	body = words.ReplaceAllStringFunc(body, func(word string) string {
		if near := clamp(word, low, high); near != "" {
			return near
		}
		if near := nearest(word, names); near != "" {
			return near
		}
		return word
	})
	if hasStep {
		body += "/" + clamp(step, 1, max(high, 1))
	}
	if body == part || !right(body) {
		return ""
	}
	return body
}

// lastDays are tried instead of a day that the months of a pattern lack.
var lastDays = []string{"30", "29"}

// tried is the first line that is right, in quotes; empty when none is.
func (p *parser) tried(lines ...string) string {
	if p.opts.probing {
		return "" // or a proposal would look for a proposal
	}
	for _, line := range lines {
		spec := line
		if p.kind == KindSAP {
			spec = `{"cron":` + quote(line) + `}`
		}
		if _, err := Parse(p.kind, []byte(spec), Options{Start: p.start, probing: true}); err == nil {
			return quote(line)
		}
	}
	return ""
}

// withLastDays are a line's fields with one of them replaced by the last day of a shorter month.
func withLastDays(parts []string, day int) []string {
	var lines []string
	for _, d := range lastDays {
		line := append([]string(nil), parts...)
		line[day] = d
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

var (
	ruleMonthDays = regexp.MustCompile(`BYMONTHDAY=[^;]*`)
	ruleNthDays   = regexp.MustCompile(`([+-]?)[0-9]+(MO|TU|WE|TH|FR|SA|SU)`)
)

// withNearDays are a rule with days that months have.
func withNearDays(rule string) []string {
	var lines []string
	for _, d := range lastDays {
		lines = append(lines, ruleMonthDays.ReplaceAllLiteralString(rule, "BYMONTHDAY="+d))
	}
	return append(lines, ruleNthDays.ReplaceAllString(rule, "${1}5${2}"))
}

// durationProposal is the length of time that a wrong one most likely means; empty when none is near.
func durationProposal(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "-")
	tries := []string{text, strings.ReplaceAll(strings.ToUpper(text), "PT", "P"), strings.ToLower(strings.ReplaceAll(text, " ", ""))}
	if isDigits(text) {
		tries = append(tries, text+"s")
	}
	if seconds, _, ok := parseInterval(text); ok && seconds < math.MaxInt64/int64(time.Second) {
		switch {
		case seconds%3600 == 0:
			tries = append(tries, fmt.Sprintf("%dh", seconds/3600))
		case seconds%60 == 0:
			tries = append(tries, fmt.Sprintf("%dm", seconds/60))
		default:
			tries = append(tries, fmt.Sprintf("%ds", seconds))
		}
	}
	for _, try := range tries {
		if d, err := parseDuration(try); err == nil && d >= 0 {
			return try
		}
	}
	return ""
}

var isoDate = regexp.MustCompile(`^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:([T ])([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2}))?(.*))?$`)

// dateProposal is the date that a wrong one most likely means: the nearest month, day of that month, hour, minute and second.
func dateProposal(text string) string {
	m := isoDate.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return ""
	}
	part := func(text string, low, high int) int {
		n, _ := strconv.Atoi(clamp(text, low, high))
		return n
	}
	at := date{part(m[1], 1, 9999), time.Month(part(m[2], 1, 12)), part(m[3], 1, 31)}.clamped()
	try := fmt.Sprintf("%04d-%02d-%02d", at.year, at.month, at.day)
	if m[4] != "" {
		clock := fmt.Sprintf("T%02d:%02d:%02d", part(m[5], 0, 23), part(m[6], 0, 59), part(m[7], 0, 59))
		if _, err := parseDate(try + clock + m[8]); err == nil {
			return try + clock + m[8]
		}
	}
	if _, err := parseDate(try); err != nil {
		return ""
	}
	return try
}
