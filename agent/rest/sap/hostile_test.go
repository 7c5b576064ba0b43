package sap

import (
	"strings"
	"testing"
	"time"

	"github.com/jobagent/jobagent/testenv/bounds"
)

// A tenant's body at the limit takes a bounded time and memory.
func TestHostileBodies(t *testing.T) { //nolint:paralleltest // it measures
	parse := func(text string) error {
		v, faults := readObject([]byte(text))
		if len(faults) > 0 || v == nil {
			return invalid(creatingJob, faults...)
		}
		r := &definitionReader{now: testNow, minInterval: 300 * time.Second}
		r.job(v, true)
		if len(r.faults) > 0 {
			return invalid(creatingJob, r.faults...)
		}
		return nil
	}
	job := func(members string) string { return `{"name":"a","action":"https://h/",` + members + `}` }
	bounds.Check(t, append(bounds.JSON(MaxBody, parse), bounds.Cases(map[string]string{
		"schedules":           job(`"schedules":[` + bounds.Repeat(`{"cron":"* * * * * 0 0"},`, MaxBody/26) + `{}]`),
		"no schedules":        job(`"schedules":[` + bounds.Repeat(`1,`, MaxBody/2-100) + `1]`),
		"cron texts":          job(`"schedules":[{"cron":"` + bounds.Repeat("1,", MaxBody/2-100) + `1 * * * * 0 0"}]`),
		"times":               job(`"schedules":[` + bounds.Repeat(`{"time":"now"},`, MaxBody/16) + `{}]`),
		"a long name, values": `{"` + bounds.Repeat("x", MaxBody/2) + `":[` + bounds.Repeat("1,", MaxBody/4-10) + `1]}`,
		"a long name, names":  `{"` + bounds.Repeat("x", MaxBody/2) + `":{` + bounds.Repeat(`"":1,`, MaxBody/10-10) + `"":1}}`,
		"data":                job(`"schedules":[{"time":"now","data":{` + bounds.Repeat(`"":1,`, MaxBody/5-30) + `"":1}}]`),
	}, parse)...))
}

// So do the other bodies of the API, filters and searches, which are bounded in themselves.
func TestHostileQueries(t *testing.T) { //nolint:paralleltest // it measures
	filter := func(text string) error { _, err := parseFilter(text); return err }
	search := func(text string) error {
		if _, faults := parseSearch(text); len(faults) > 0 {
			return invalid(creatingJob, faults...)
		}
		return nil
	}
	fill := func(part string, size int) string { return strings.Repeat(part, size/len(part)) }
	bounds.Check(t, bounds.Cases(map[string]string{
		"comparisons":       fill("name eq 'a' or ", maxFilter),
		"escaped quotes":    "name eq '" + fill("''", maxFilter-20) + "'",
		"blanks":            fill(" ", maxFilter),
		"blanks in between": "name" + fill("\u3000", maxFilter-20) + " eq 'a'",
		"a word":            fill("x", maxFilter),
		"a text of 16 KB":   "name eq '" + fill("x", 16<<10) + "'",
	}, filter))
	bounds.Check(t, bounds.Cases(map[string]string{
		"words":           fill("a ", maxSearch),
		"the most words":  fill("a ", 2*maxConditions),
		"times":           fill("startTime:>2011-02-18 ", maxSearch),
		"operators":       "startTime:" + fill("<", maxSearch-20),
		"colons":          fill(":", maxSearch),
		"blanks":          fill("\u3000", maxSearch),
		"a text of 16 KB": fill("x", 16<<10),
	}, search))
	report := func(text string) error {
		if _, faults := readReport([]byte(text)); len(faults) > 0 {
			return invalid(creatingJob, faults...)
		}
		return nil
	}
	bounds.Check(t, append(bounds.JSON(MaxBody, report), bounds.Cases(map[string]string{
		"a message":        `{"success":true,"message":"` + bounds.Repeat("x", MaxBody-40) + `"}`,
		"an escaped one":   `{"success":true,"message":"` + bounds.Repeat(`\u0000`, MaxBody/6-10) + `"}`,
		"an object in it":  `{"success":true,"message":{` + bounds.Repeat(`"":1,`, MaxBody/5-20) + `"":1}}`,
		"an array in it":   `{"success":true,"message":[` + bounds.Repeat(`1,`, MaxBody/2-40) + `1]}`,
		"success in texts": `{"success":"` + bounds.Repeat("x", MaxBody-40) + `"}`,
	}, report)...))
	bounds.Check(t, bounds.JSON(MaxBody, func(text string) error {
		if _, faults := readParameters([]byte(text)); len(faults) > 0 {
			return invalid(creatingJob, faults...)
		}
		return nil
	}))
}
