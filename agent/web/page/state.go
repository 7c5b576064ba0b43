package page

import (
	"html/template"
	"strings"

	"github.com/jobagent/jobagent/jobs"
)

// looks are the classes, which have colours, and the icons of states that pages show. The text is
// shown as well, so a state is never told by its colour only. The class of a lifecycle is that of
// [jobs.Lifecycle.Class]; here it has its icon.
var looks = []struct {
	class jobs.Class
	icon  string
	names string // in lower case and without blanks
}{
	{jobs.ClassOK, "check", "succeeded succeededwithskipped completed enabled alive active ready resolved delivered free reported passed opennow"},
	{jobs.ClassBad, "cross", "failed faulted dead lost silent failing gatefailed"},
	{jobs.ClassBad, "clock", "timedout"},
	{jobs.ClassBad, "bell", "firing critical open"},
	{jobs.ClassBusy, "play", "inprogress running waitingforchildjobexecutions executing starting planning assigning recording probing preflight"},
	{jobs.ClassBusy, "dots", "creating updating"},
	{jobs.ClassBusy, "bell", "info"},
	{jobs.ClassBusy, "retry", "backfill"},
	{jobs.ClassWait, "dots", "created waiting queued pending"},
	{jobs.ClassWait, "clock", "scheduled accepted waitingforcallback baking"},
	{jobs.ClassWarn, "retry", "waitingforretry retrying"},
	{jobs.ClassWarn, "pause", "paused draining"},
	{jobs.ClassWarn, "warn", "warning partlyfailed incomplete"},
	{jobs.ClassWarn, "stop", "stopping aborting"},
	{jobs.ClassWarn, "person", "waitingforapproval"},
	{jobs.ClassWarn, "clock", "overdue"},
	{jobs.ClassWarn, "dots", "deleting"},
	{jobs.ClassWarn, "gauge", "full"},
	{jobs.ClassWarn, "help", "unknown noanswer"},
	{jobs.ClassOff, "stop", "deleted canceled stopped disabled closed ended aborted"},
	{jobs.ClassOff, "skip", "skipped returned unreached leftout"},
	{jobs.ClassOff, "retry", "replaced"},
	{jobs.ClassOff, "clock", "outdated expired"},
	{jobs.ClassOff, "check", "acknowledged"},
}

type look struct {
	class jobs.Class
	icon  string
}

// states are the looks by name.
var states = func() map[string]look {
	all := map[string]look{}
	for _, l := range looks {
		for name := range strings.FieldsSeq(l.names) {
			all[name] = look{l.class, l.icon}
		}
	}
	return all
}()

// StateClass returns the class of a state: ok, bad, busy, wait, warn or off. Scripts and SVG use
// the same classes.
func StateClass(state any) string {
	if s, ok := states[stateKey(str(state))]; ok {
		return string(s.class)
	}
	return "wait"
}

func stateKey(state string) string { return strings.ToLower(strings.ReplaceAll(state, " ", "")) }

// State shows a state with colour, icon and text. The words of a name such as WaitingForRetry are
// separated.
func State(v any) template.HTML {
	name := str(v)
	if name == "" {
		return none
	}
	icon := "dots"
	if s, ok := states[stateKey(name)]; ok {
		icon = s.icon
	}
	shown, title := words(name), ""
	if short, ok := shortNames[stateKey(name)]; ok {
		shown, title = short, ` title="`+template.HTMLEscapeString(name)+`"`
	}
	return template.HTML(`<span class="state s-`+StateClass(name)+`"`+title+`>`) + Icon(icon) + //nolint:gosec // classes are constants
		template.HTML(`<span>`+visible(shown)+`</span></span>`) //nolint:gosec // visible escapes
}

// shortNames are states whose names are too long for a table. The title has the name.
var shortNames = map[string]string{"waitingforchildjobexecutions": "Running", "succeededwithskipped": "Succeeded, some skipped"}

// words separates the words of a name: "TimedOut" becomes "Timed out".
func words(name string) string {
	var b strings.Builder
	before := ' '
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' && before >= 'a' && before <= 'z' {
			b.WriteByte(' ')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// icons are the paths of icons in a box of 16 by 16, drawn with a stroke.
var icons = map[string]string{
	"check": "M3 8.5l3.2 3.2L13 5", "cross": "M4 4l8 8M12 4l-8 8", "clock": "M8 4v4.2l2.8 1.8M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
	"play": "M5 3.5l7.5 4.5L5 12.5z", "dots": "M3 8h.01M8 8h.01M13 8h.01", "retry": "M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5",
	"pause": "M5.5 3.5v9M10.5 3.5v9", "stop": "M4 4h8v8H4z", "skip": "M3.5 4l5 4-5 4zM12 4v8", "warn": "M8 2.5L14.5 13.5h-13zM8 6.5v3.2M8 11.6v.01",
	"bell": "M4 11V7.5a4 4 0 0 1 8 0V11l1.2 1.5H2.8zM6.8 14.2h2.4", "copy": "M5.5 5.5h7v7h-7zM3.5 10.5h-.5V3h7.5v.5", "menu": "M2.5 4h11M2.5 8h11M2.5 12h11",
	"sun":    "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
	"search": "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3.5 3.5", "help": "M5.8 6a2.3 2.3 0 1 1 3.4 2c-.8.5-1.2.9-1.2 1.7M8 12v.01",
	"person": "M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.8 14a5.2 5.2 0 0 1 10.4 0", "list": "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
	"home": "M2.5 7.5L8 3l5.5 4.5V13h-4V9.5h-3V13h-4z", "grid": "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
	"calendar": "M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.5V5M10.5 2.5V5", "server": "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01", "gauge": "M2.5 12a6 6 0 1 1 11 0M8 10l3-4",
	"book": "M3 2.5h8.5a1.5 1.5 0 0 1 1.5 1.5v9.5H4.5A1.5 1.5 0 0 1 3 12zM5.8 5.5h4.5M5.8 8h4.5", "target": "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
}

// Icon returns an icon, which screen readers skip. Unknown names give nothing.
func Icon(name string) template.HTML {
	path, ok := icons[name]
	if !ok {
		return ""
	}
	return template.HTML(`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false"><path d="` + path + `"/></svg>`) //nolint:gosec // constants
}
