package page

import (
	"context"
	"fmt"
	"hash/fnv"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
)

// barWidth is the width of a bar in its own units; the page scales it.
const barWidth = 1000.0

// Bar draws shares of a total as one bar. pairs are classes of states (ok, bad, busy, wait, warn,
// off) and numbers: {{bar 10 "ok" .Succeeded "bad" .Failed}}. A share above zero is always visible.
// The text beside it says the numbers; screen readers skip the bar.
func Bar(total any, pairs ...any) (template.HTML, error) {
	if len(pairs)%2 != 0 {
		return "", fmt.Errorf("bar has %d arguments: want classes and numbers", len(pairs))
	}
	var b strings.Builder
	b.WriteString(`<svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">` +
		`<rect class="track" x="0" y="0" width="1000" height="8"/>`)
	whole, sum := number(total), 0.0
	widths := make([]float64, len(pairs)/2)
	for i := range widths {
		if n := number(pairs[2*i+1]); !math.IsNaN(n) && n > 0 && whole > 0 {
			widths[i] = min(max(barWidth*n/whole, 4), barWidth)
			sum += widths[i]
		}
	}
	x := 0.0
	for i, width := range widths {
		if width *= min(1, barWidth/max(sum, 1)); width > 0 {
			fmt.Fprintf(&b, `<rect class="s-%s" x="%s" y="0" width="%s" height="8"/>`, template.HTMLEscapeString(str(pairs[2*i])), decimal(x), decimal(width))
			x += width
		}
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()), nil //nolint:gosec // numbers and escaped classes
}

// decimal writes a coordinate.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// maxDifference is the largest size of two texts together, in bytes, whose lines are compared.
const maxDifference = 1 << 20

// Difference compares two texts by lines, with some lines around each difference. A note says that
// they are too large.
func Difference(before, after string) (list []DiffLine, note string, err error) {
	if len(before)+len(after) > maxDifference {
		return nil, fmt.Sprintf("The texts are too large to be compared here: %d and %d bytes.", len(before), len(after)), nil
	}
	unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return nil, "", err
	}
	next := 1
	for _, h := range unified.Hunks {
		if h.FromLine > next {
			list = append(list, DiffLine{Sign: "@"})
		}
		next = h.FromLine
		for _, l := range h.Lines {
			sign := ""
			switch l.Kind {
			case udiff.Delete:
				sign = "−"
			case udiff.Insert:
				sign = "+"
			case udiff.Equal:
			}
			if l.Kind != udiff.Insert {
				next++
			}
			list = append(list, DiffLine{Sign: sign, Text: strings.TrimSuffix(l.Content, "\n")})
		}
	}
	return list, "", nil
}

// variable matches what differs between messages that say the same: quoted names, GUIDs, numbers,
// addresses, instants.
var variable = regexp.MustCompile(`'[^']*'|"[^"]*"|\x{201C}[^\x{201D}]*\x{201D}|\[[^\]]*\]|` +
	`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0[xX][0-9a-fA-F]+|` +
	`\d+(?:[.,:\-T]\d+)*`)

// keyLength is the number of bytes of a message that tell errors apart. Lists of errors have the
// beginnings of messages only.
const keyLength = 160

// ErrorKey returns the key of an error: the same for messages that say the same of different
// targets. Pages of runs are filtered by it, as the parameter "error". number is the error's
// number, or 0.
func ErrorKey(number int, message string) string {
	text := variable.ReplaceAllStringFunc(message, func(part string) string {
		switch part[0] {
		case '\'', '"', '[':
			return part[:1] + "…" + part[len(part)-1:]
		case '\xe2':
			return "“…”"
		}
		return "#"
	})
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%d\x00%s", number, text[:min(len(text), keyLength)]) // a hash does not fail
	return fmt.Sprintf("%016x", hash.Sum64())
}

// After reads the key behind which a list goes on, from the parameter that the link to the next
// page has set to its [controldb.Token]. Nil means that the list begins, also for a text that is no
// token.
func After[K any](text string) *K {
	key := new(K)
	if text == "" || controldb.ReadToken(text, key) != nil {
		return nil
	}
	return key
}

// The phases of a run, on which its actions depend (see [View.Phase]).
const (
	runActive       = "active"
	runSucceeded    = "succeeded"
	runUnsuccessful = "unsuccessful"
	runRetrying     = "retrying"
)

// RunPhase is the phase of a run. active says that the run has not ended, retrying that something
// of it waits for another attempt, and succeeded that it ended as Succeeded.
func RunPhase(active, retrying, succeeded bool) string {
	switch {
	case active && retrying:
		return runActive + " " + runRetrying
	case active:
		return runActive
	case succeeded:
		return runSucceeded
	}
	return runUnsuccessful
}

// RunTitle is the title of the pages that show a whole run: the tabs tell them apart.
func RunTitle(job string) string { return "Run of " + job }

// RunActions are the actions of all pages of a run. path is the path of the run's page.
func RunActions(path string) []Link {
	return []Link{
		{Text: "Stop", Href: path + "/stop", Danger: true, Role: rest.RoleOperator, When: runActive},
		{Text: "Retry now", Href: path + "/retry-now", Role: rest.RoleOperator, When: runRetrying},
		{Text: "Give up what waits", Href: path + "/give-up", Danger: true, Role: rest.RoleOperator, When: runRetrying},
		{Text: "Rerun what failed", Href: path + "/rerun", Role: rest.RoleOperator, When: runUnsuccessful},
	}
}

// The parameters of an address that chooses databases of a run in its grid. Without scripts, the
// form of the grid makes it.
const (
	// ChoiceParam says that only chosen databases count, also if there are none.
	ChoiceParam = "choose"
	// ChoiceAll chooses all that the filter finds, but for the exceptions; ChoiceTarget is one of
	// the chosen databases, and ChoiceExcept is an exception. Both may be there several times.
	ChoiceAll, ChoiceTarget, ChoiceExcept = "all", "target", "except"
	// ChoiceField is the field of a form that has the IDs of the chosen databases, separated by
	// commas: what was confirmed is what runs, however the filter would choose now.
	ChoiceField = "targets"
)

// Choice is databases of a run that a person has chosen: the rows that were ticked, or all that a
// filter finds.
type Choice struct {
	Run     uuid.UUID
	Job     string
	Version int // of the run
	Active  bool
	// Unreached says that the run has not resolved the target group of a step: a rerun does.
	Unreached bool
	// Of is the number of databases of the run.
	Of        int
	Databases []ChosenDatabase // by server and name
	// Problem is a sentence that says why nothing may run on them; empty: it may.
	Problem string
}

// ChosenDatabase is a chosen database.
type ChosenDatabase struct {
	ID               uuid.UUID
	Server, Database string
	// Ended has the final states of its steps, as jobs.sp_rerun_job_execution names them.
	Ended []string
}

// Chooser returns the choice of a request: of its form, or of its address.
type Chooser func(ctx context.Context, r *Request, run uuid.UUID) (*Choice, error)

// Chooses reports whether a request is about chosen databases of a run.
func (r *Request) Chooses() bool { return r.Query(ChoiceParam) != "" }
