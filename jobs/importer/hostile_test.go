package importer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// Hostile files of other systems take a bounded time and memory.
func TestHostileImports(t *testing.T) { //nolint:paralleltest // it measures
	script := func(r *Result, err error) error {
		if err == nil {
			_ = r.Script()
		}
		return err
	}
	o := Options{Now: now}
	azure := func(text string) error { return script(AzureScheduler([]byte(text), o)) }
	sap := func(text string) error { return script(SAP([]byte(text), o)) }
	crontab := func(text string) error { return script(Crontab([]byte(text), o)) }
	kubernetes := func(text string) error { return script(Kubernetes([]byte(text), o)) }
	tasks := func(text string) error { return script(TaskScheduler([]Document{{"f.xml", []byte(text)}}, o)) }
	calendar := func(text string) error { return script(ICalendar([]Document{{"f.ics", []byte(text)}}, o)) }
	quartz := func(text string) error { _, _ = quartzKeys([]byte(text)); return nil }
	fill := func(size int, begin, part, end string) string {
		return begin + strings.Repeat(part, (size-len(begin)-len(end))/len(part)) + end
	}
	variables := func(lines int) string {
		var b strings.Builder
		for i := range maxCrontabVariables {
			fmt.Fprintf(&b, "V%d=x\n", i)
		}
		return b.String() + strings.Repeat("0 2 * * * true\n", lines)
	}

	bounds.Check(t, bounds.JSON(2*bounded.File.Values-2, azure)) // as many values as are allowed
	bounds.Check(t, bounds.JSON(2*bounded.File.Values-2, sap))
	bounds.Check(t, bounds.JSON(1<<20, quartz))
	bounds.Check(t, bounds.XML(maxXMLText, tasks))
	bounds.Check(t, bounds.Cases(map[string]string{
		"jobs of Azure": `{"value":[` + strings.Repeat(`{"name":"j","properties":{"action":{"type":"http","request":{"uri":"https://h/"}}}},`, 20_000) + `{}]}`,
	}, azure))
	bounds.Check(t, bounds.Cases(map[string]string{
		"jobs of SAP": `{"results":[` + strings.Repeat(`{"name":"j","action":"https://h/","schedules":[{"cron":"* * * * * 0 0"}]},`, maxListed-1) + `{}]}`,
	}, sap))
	bounds.Check(t, bounds.Cases(map[string]string{
		"lines":             fill(maxCrontabText, "", "0 2 * * * a\n", ""),
		"lines, the limit":  strings.Repeat("0 2 * * * root a\n", maxCrontabLines),
		"variables":         fill(maxCrontabText, "", "A=b\n", ""),
		"variables of many": variables(maxCrontabLines),
		"one line":          fill(maxCrontabText, "0 2 * * * ", "a", ""),
		"percent signs":     fill(maxCrontabText, "0 2 * * * ", "%", ""),
		"a list":            fill(maxCrontabText, "", "0,", "0 2 * * * a"),
		"quotes":            fill(maxCrontabText, "0 2 * * * ", "'a' ", ""),
		"expansions":        "A=" + strings.Repeat("x", 1<<19) + "\n0 2 * * * sqlcmd -Q '" + strings.Repeat("$A", 1<<17) + "'\n",
		"sqlcmd":            fill(maxCrontabText, "0 2 * * * sqlcmd ", "-Q x ", ""),
		"empty lines":       fill(maxCrontabText, "", "\n", ""),
		"comments":          fill(maxCrontabText, "", "#\n", ""),
	}, crontab))
	event := "BEGIN:VEVENT\nDTSTART:20260701T000000Z\n%s\nEND:VEVENT\n"
	wrap := func(text string) string { return "BEGIN:VCALENDAR\n" + text + "END:VCALENDAR\n" }
	bounds.Check(t, bounds.Cases(map[string]string{
		"components":           fill(maxICalendarText, "", "BEGIN:VEVENT\n", ""),
		"components, the most": wrap(strings.Repeat(fmt.Sprintf(event, "RRULE:FREQ=DAILY"), maxComponents-1)),
		"lines":                wrap(fmt.Sprintf(event, strings.TrimSpace(strings.Repeat("A:b\n", 500_000)))),
		"folded lines":         wrap(fmt.Sprintf(event, fill(maxICalendarText, "SUMMARY:a", "\n b", "")[:maxICalendarText-200])),
		"parameters":           wrap(fmt.Sprintf(event, "SUMMARY"+strings.Repeat(";a=b", 500_000)+":x")),
		"exceptions":           wrap(fmt.Sprintf(event, "RRULE:FREQ=DAILY\nEXDATE:"+strings.Repeat("20260702T000000Z,", 120_000)+"20260702T000000Z")),
		"exceptions on lines":  wrap(fmt.Sprintf(event, "RRULE:FREQ=DAILY"+strings.Repeat("\nEXDATE:20260702T000000Z", 80_000))),
		"dates":                wrap(fmt.Sprintf(event, "RDATE:"+strings.Repeat("20260702T000000Z,", 120_000)+"20260702T000000Z")),
		"rules":                wrap(fmt.Sprintf(event, "RRULE:FREQ=DAILY"+strings.Repeat("\nRRULE:FREQ=DAILY", 110_000))),
		"a long rule":          wrap(fmt.Sprintf(event, "RRULE:FREQ=YEARLY;BYYEARDAY="+strings.Repeat("1,", 1_000_000)+"1")),
	}, calendar))
	cronJob := "kind: CronJob\nmetadata: {name: j}\nspec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: i, command: [a]}]}}}}}\n---\n"
	bounds.Check(t, bounds.Cases(map[string]string{
		"entries on one line": strings.Repeat("- ", 60_000) + "1",
		"jobs":                strings.Repeat(cronJob, 1_900),
		"lists in each other": "a: &a0 {kind: List, items: [" + strings.Repeat("{kind: List, items: [", 90) + strings.Repeat("]}", 90) + "]}\n",
		"aliases":             "x: &a [b]\n" + strings.Repeat("kind: List\n", 1) + "items: [" + strings.Repeat("*a,", 60_000) + "]\n",
	}, kubernetes))
}
