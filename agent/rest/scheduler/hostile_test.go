package scheduler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// A body of a job at the limit of the front takes a bounded time and memory, as do patches.
func TestHostileJobs(t *testing.T) { //nolint:paralleltest // it measures
	const limit = 4 << 20 // of the front (agent/rest)
	const values = 99_900 // the most, less those around them
	named := func(n int, value string) string {
		var b strings.Builder
		for i := range bounds.Size(n) {
			fmt.Fprintf(&b, `"n%d":%s,`, i, value)
		}
		return b.String()
	}
	request := func(members string) string {
		return `{"properties":{"action":{"type":"https","request":{"uri":"https://h/","method":"POST",` + members + `}}}}`
	}
	recurrence := func(members string) string {
		return `{"properties":{"action":{"type":"https","request":{"uri":"https://h/","method":"GET"}},"recurrence":{` + members + `}}}`
	}
	texts := map[string]string{
		"headers":                     request(`"headers":{` + named(values, `""`) + `"z":""}`),
		"secret headers":              request(`"headers":{"authorization":"` + bounds.Repeat("x", limit-200) + `"}`),
		"a body":                      request(`"body":"` + bounds.Repeat("$(", limit/2-200) + `"`),
		"an address":                  `{"properties":{"action":{"type":"https","request":{"uri":"https://h/?` + bounds.Repeat("s=&", limit/3-200) + `","method":"GET"}}}}`,
		"a recurrence":                recurrence(named(values, "1") + `"z":1`),
		"a recurrence with nulls":     recurrence(named(values, "null") + `"z":1`),
		"minutes":                     recurrence(`"frequency":"day","schedule":{"minutes":[` + bounds.Repeat("1,", values) + `1]}`),
		"minutes that are none":       recurrence(`"frequency":"day","schedule":{"minutes":[` + bounds.Repeat("-1,", 30_000) + `1]}`),
		"occurrences":                 recurrence(`"frequency":"month","schedule":{"monthlyOccurrences":[` + bounds.Repeat(`{"day":"x"},`, values/2) + `{}]}`),
		"recurrences in each other":   recurrence(strings.Repeat(`"a":{`, 90) + strings.Repeat("}", 90)),
		"properties of a message":     `{"properties":{"action":{"type":"serviceBusQueue","serviceBusQueueMessage":{"namespace":"n","queueName":"q","message":"m","customMessageProperties":{` + named(values, `""`) + `"z":""}}}}}`,
		"error actions in each other": `{"properties":{"action":{"type":"https","errorAction":` + strings.Repeat(`{"type":"https","errorAction":`, 80) + "{}" + strings.Repeat("}", 82) + "}",
	}
	for _, patch := range []bool{false, true} {
		parse := func(text string) error { return scheduler.Translate(text, patch) }
		cases := append(bounds.JSON(limit, parse), bounds.Cases(texts, parse)...)
		for i := range cases {
			cases[i].Name += map[bool]string{false: ", PUT", true: ", PATCH"}[patch]
		}
		bounds.Check(t, cases)
	}
}
