package sap

import (
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
