package importer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

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
		return begin + strings.Repeat(part, max(0, bounds.Size(size)-len(begin)-len(end))/len(part)) + end
	}
	// numbered returns parts in which # is a number.
	numbered := func(n int, part string) string {
		var b strings.Builder
		for i := range bounds.Size(n) {
			b.WriteString(strings.ReplaceAll(part, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	const values = 250_000                          // bounded.File.Values
	bounds.Check(t, bounds.JSON(2*values-2, azure)) // as many values as are allowed
	bounds.Check(t, bounds.JSON(2*values-2, sap))
	bounds.Check(t, bounds.JSON(1<<20, quartz))
	bounds.Check(t, bounds.XML(maxXMLText, tasks))

	job := `{"name":"j","properties":{"action":{"type":"http","request":{"uri":"https://h/"}}}},`
	bounds.Check(t, bounds.Cases(map[string]string{
		"too many jobs":                  `{"value":[` + bounds.Repeat(job, 20_000) + `{}]}`,
		"jobs":                           `{"value":[` + strings.Repeat(job, bounds.Size(maxListed)-1) + `{}]}`,
		"a collection with a long name":  `{"name":"` + fill(15<<20, "", "x", "") + `","sku":{},"jobs":[` + strings.Repeat(job, bounds.Size(maxListed)-1) + `{}]}`,
		"collections":                    `[` + numbered(30_000, `{"name":"c#","sku":{},"quota":{}},`) + `{}]`,
		"unknown members":                `{"name":"j","action":{},` + numbered(120_000, `"m#":1,`) + `"z":1}`,
		"an action with unknown members": `{"name":"j","action":{"type":"http","request":{"uri":"https://h/","headers":{` + numbered(120_000, `"h#":"1",`) + `"z":"1"}}}}`,
	}, azure))
	bounds.Check(t, bounds.Cases(map[string]string{
		"jobs":           `{"results":[` + strings.Repeat(`{"name":"j","action":"https://h/","schedules":[{"cron":"* * * * * 0 0"}]},`, bounds.Size(maxListed)-1) + `{}]}`,
		"schedules":      `{"name":"j","action":"https://h/","schedules":[` + strings.Repeat(`{"cron":"* * * * * 0 0"},`, bounds.Size(maxSchedules)-1) + `{}]}`,
		"many schedules": `{"name":"j","action":"https://h/","schedules":[` + bounds.Repeat(`{"cron":"x"},`, values/4) + `{}]}`,
		"no schedules":   `{"name":"j","action":"https://h/","schedules":[` + bounds.Repeat(`1,`, values-20) + `1]}`,
		"data":           `{"name":"j","action":"https://h/","schedules":[` + bounds.Repeat(`{"data":{"a":{"b":1}}},`, values/10) + `{}]}`,
		"data in texts":  `{"name":"j","action":"https://h/","schedules":[` + bounds.Repeat(`{"data":"[[[[[[[[[[[[[[[[]"},`, values/4) + `{}]}`,
		"alerts":         `{"name":"j","action":"https://h/","ansConfig":{` + numbered(values/3, `"a#":true,`) + `"z":1}}`,
	}, sap))

	task := func(text string) string { return `<Task xmlns="` + taskSchema + `">` + text + "</Task>" }
	action := `<Exec><Command>sqlcmd</Command><Arguments>-Q x</Arguments></Exec>`
	trigger := `<CalendarTrigger><StartBoundary>2026-07-01T00:00:00</StartBoundary>%s<ScheduleByDay><DaysInterval>1</DaysInterval></ScheduleByDay></CalendarTrigger>`
	repeated := fmt.Sprintf(trigger, "<Repetition><Interval>PT%s</Interval><Duration>P1D</Duration></Repetition>")
	bounds.Check(t, bounds.Cases(map[string]string{
		"tasks":             "<Tasks>" + bounds.Repeat(task("<Triggers/>"), 40_000) + "</Tasks>",
		"actions":           task("<Actions>" + strings.Repeat(action, bounds.Size(maxSteps)) + "</Actions>"),
		"many actions":      task("<Actions>" + bounds.Repeat(action, 60_000) + "</Actions>"),
		"classes":           task("<Actions>" + bounds.Repeat("<ComHandler/>", 150_000) + "</Actions>"),
		"triggers":          task("<Triggers>" + strings.Repeat(fmt.Sprintf(trigger, ""), bounds.Size(maxSchedules)) + "</Triggers>"),
		"many triggers":     task("<Triggers>" + bounds.Repeat(fmt.Sprintf(trigger, ""), 25_000) + "</Triggers>"),
		"odd repetitions":   task("<Triggers>" + bounds.Repeat(fmt.Sprintf(repeated, "7M"), 15_000) + "</Triggers>"),
		"short repetitions": task("<Triggers>" + bounds.Repeat(fmt.Sprintf(repeated, "13S"), 15_000) + "</Triggers>"),
		"repetitions":       task("<Triggers>" + bounds.Repeat(fmt.Sprintf(repeated, "97M"), 15_000) + "</Triggers>"),
		"unknown triggers":  task("<Triggers>" + bounds.Repeat("<x/>", 190_000) + "</Triggers>"),
		"settings":          task("<Settings>" + bounds.Repeat("<Enabled>1</Enabled>", 190_000) + "</Settings>"),
		"a long argument":   task("<Actions><Exec><Command>sqlcmd</Command><Arguments>" + fill(maxXMLText-1000, "", `\"`, "") + "</Arguments></Exec></Actions>"),
		"arguments":         task("<Actions><Exec><Command>sqlcmd</Command><Arguments>" + fill(maxXMLText-1000, "", `-i x `, "") + "</Arguments></Exec></Actions>"),
	}, tasks))

	variables := func(lines int) string {
		return crontabVariables() + bounds.Repeat("0 2 * * * true\n", lines)
	}
	expansions := func(value, command string) string {
		return "A=" + bounds.Repeat("x", 1<<19) + "\n0 2 * * * sqlcmd " + fmt.Sprintf(value, bounds.Repeat(command, 1<<17)) + "\n"
	}
	bounds.Check(t, bounds.Cases(map[string]string{
		"lines":               fill(maxCrontabText, "", "0 2 * * * a\n", ""),
		"lines, the limit":    bounds.Repeat("0 2 * * * root a\n", maxCrontabLines),
		"commands, the limit": numbered(maxCrontabLines, "0 2 * * * sqlcmd -S s# -Q x\n"),
		"programs, the limit": numbered(maxCrontabLines, "0 2 * * * p#\n"),
		"variables":           fill(maxCrontabText, "", "A=b\n", ""),
		"variables of many":   variables(maxCrontabLines),
		"one line":            fill(maxCrontabText, "0 2 * * * ", "a", ""),
		"percent signs":       fill(maxCrontabText, "0 2 * * * ", "%", ""),
		"a list":              fill(maxCrontabText, "", "0,", "0 2 * * * a"),
		"quotes":              fill(maxCrontabText, "0 2 * * * ", "'a' ", ""),
		"expansions":          expansions("-Q '%s'", "$A"),
		"expansions, quoted":  expansions(`-S "%s"`, "$A"),
		"expansions, words":   expansions("%s", "$A "),
		"expansions, lines":   "A=" + bounds.Repeat("x", 1<<19) + "\n" + bounds.Repeat("0 2 * * * sqlcmd -S \"$A\" -Q x\n", maxCrontabLines),
		"sqlcmd":              fill(maxCrontabText, "0 2 * * * sqlcmd ", "-Q x ", ""),
		"files":               fill(maxCrontabText, "0 2 * * * sqlcmd ", "-i x ", ""),
		"wrappers":            fill(maxCrontabText, "0 2 * * * ", "exec ", ""),
		"empty lines":         fill(maxCrontabText, "", "\n", ""),
		"comments":            fill(maxCrontabText, "", "#\n", ""),
	}, crontab))

	event := "BEGIN:VEVENT\nDTSTART:20260701T000000Z\n%s\nEND:VEVENT\n"
	wrap := func(text string) string { return "BEGIN:VCALENDAR\n" + text + "END:VCALENDAR\n" }
	dates := func(name string, n int) string {
		return name + ":" + bounds.Repeat("20260702T000000Z,", n) + "20260702T000000Z"
	}
	exceptions := func(n int) string { return "EXDATE:" + strings.Repeat("20260702T000000Z,", n-1) + "20260702T000000Z" }
	rules := strings.Repeat("\nRRULE:FREQ=DAILY", maxRules)
	bounds.Check(t, bounds.Cases(map[string]string{
		"components":                    fill(maxICalendarText, "", "BEGIN:VEVENT\n", ""),
		"components, the most":          wrap(strings.Repeat(fmt.Sprintf(event, "RRULE:FREQ=DAILY"), bounds.Size(maxComponents)-1)),
		"lines":                         wrap(fmt.Sprintf(event, strings.TrimSpace(bounds.Repeat("A:b\n", 500_000)))),
		"properties":                    wrap(fmt.Sprintf(event, strings.TrimSpace(numbered(180_000, "A#:b\n")))),
		"folded lines":                  wrap(fmt.Sprintf(event, fill(maxICalendarText-200, "SUMMARY:a", "\n b", ""))),
		"parameters":                    wrap(fmt.Sprintf(event, "SUMMARY"+bounds.Repeat(";a=b", 500_000)+":x")),
		"exceptions":                    wrap(fmt.Sprintf(event, "RRULE:FREQ=DAILY\n"+dates("EXDATE", 120_000))),
		"exceptions on lines":           wrap(fmt.Sprintf(event, "RRULE:FREQ=DAILY"+bounds.Repeat("\nEXDATE:20260702T000000Z", 80_000))),
		"exceptions of many rules":      wrap(fmt.Sprintf(event, dates("EXDATE", 115_000)+rules)),
		"exceptions and rules, events":  wrap(bounds.Repeat(fmt.Sprintf(event, exceptions(399)+rules), 290)),
		"exceptions, events":            wrap(bounds.Repeat(fmt.Sprintf(event, exceptions(3_700)+"\nRRULE:FREQ=DAILY"), 32)),
		"exceptions of a lost zone":     wrap(fmt.Sprintf(event, bounds.Repeat("EXDATE;TZID=a/b/c/d/e/f/g:20260702T000000\n", 45_000))),
		"dates":                         wrap(fmt.Sprintf(event, dates("RDATE", 120_000))),
		"rules":                         wrap(fmt.Sprintf(event, "RRULE:FREQ=DAILY"+bounds.Repeat("\nRRULE:FREQ=DAILY", 110_000))),
		"rules, the most":               wrap(strings.Repeat(fmt.Sprintf(event, rules[1:]), bounds.Size(maxComponents)-1)),
		"counted rules":                 wrap(strings.Repeat(fmt.Sprintf(event, strings.ReplaceAll(rules[1:], "DAILY", "SECONDLY;COUNT=1000000")), bounds.Size(maxComponents)-1)),
		"a long rule":                   wrap(fmt.Sprintf(event, "RRULE:FREQ=YEARLY;BYYEARDAY="+bounds.Repeat("1,", 1_000_000)+"1")),
		"instants of an event, changed": wrap(fmt.Sprintf(event, "UID:a\nRRULE:FREQ=DAILY") + strings.Repeat(fmt.Sprintf(event, "UID:a\nRECURRENCE-ID:20260702T000000Z"), bounds.Size(maxComponents)-2)),
	}, calendar))

	container := "{name: c, image: i, command: [sqlcmd, -Q, x]}"
	cronJob := func(containers, more string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j}\nspec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {containers: [" + containers + "]}}}}}\n" + more
	}
	item := func(containers string) string {
		return `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"j"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"containers":[` + containers + `]}}}}}},`
	}
	list := func(items string) string { return `{"kind":"List","items":[` + items + `{"kind":"x"}]}` }
	long := fill(1<<20, "", "x", "")
	bounds.Check(t, append(bounds.JSON(2*values-2, kubernetes), bounds.Cases(map[string]string{
		"entries on one line":     bounds.Repeat("- ", 60_000) + "1",
		"jobs":                    bounds.Repeat(cronJob(container, "---\n"), 1_900),
		"jobs, JSON":              list(bounds.Repeat(item(`{"name":"c","command":["sqlcmd","-Q","x"]}`), maxCronJobs)),
		"too many jobs, JSON":     list(bounds.Repeat(item(""), 2*maxCronJobs)),
		"containers":              cronJob(bounds.Repeat(container+",", 15_000), ""),
		"steps":                   list(bounds.Repeat(item(strings.Repeat(`{},`, maxContainers-1)+"{}"), 1_500)),
		"kinds":                   list(numbered(values/4, `{"kind":"k#"},`)),
		"environment":             list(item(`{"env":[` + numbered(values/6, `{"name":"n#","value":"v"},`) + `{}]}`)),
		"expansions":              list(item(`{"env":[{"name":"A","value":"` + long + `"}],"command":["sqlcmd","-S","` + bounds.Repeat("$(A)", 100_000) + `"]}`)),
		"expansions, words":       list(item(`{"env":[{"name":"A","value":"` + long + `"}],"command":["sqlcmd"` + bounds.Repeat(`,"$(A)"`, 100_000) + `]}`)),
		"lists in each other":     "a: &a0 {kind: List, items: [" + strings.Repeat("{kind: List, items: [", 90) + strings.Repeat("]}", 90) + "]}\n",
		"aliases":                 "x: &a [b]\nkind: List\nitems: [" + bounds.Repeat("*a,", 60_000) + "]\n",
		"aliases of a job":        "x: &a {" + strings.ReplaceAll(strings.TrimSpace(cronJob(container, "")), "\n", ", ") + "}\nkind: List\nitems: [" + bounds.Repeat("*a,", maxCronJobs-10) + "]\n",
		"aliases of a container":  "x: &a " + container + "\n" + cronJob(bounds.Repeat("*a,", 60_000), ""),
		"aliases of a long text":  "x: &a " + long + "\n" + cronJob("{command: ["+bounds.Repeat("*a,", 60_000)+"]}", ""),
		"aliases of aliases":      "x0: &a0 [a]\n" + aliases(30) + cronJob("{command: *a30}", ""),
		"merges of a job's parts": "x: &a {" + numbered(9_000, "k#: 1, ") + "}\n" + cronJob(bounds.Repeat("{<<: *a},", 1_000), ""),
	}, kubernetes)...))
}

// crontabVariables returns as many variables as a crontab may have.
func crontabVariables() string {
	var b strings.Builder
	for i := range maxCrontabVariables {
		fmt.Fprintf(&b, "V%d=x\n", i)
	}
	return b.String()
}

// aliases returns the entries of a mapping whose values double with each level.
func aliases(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "x%[1]d: &a%[1]d [*a%[2]d, *a%[2]d]\n", i+1, i)
	}
	return b.String()
}
