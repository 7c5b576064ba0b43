package runs

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
)

// news is what a screen shows.
type news struct {
	// title is a line above the run, and counts are a bar below it, for a command that follows
	// several runs.
	title  string
	counts jobs.Counts
	run    *Detail // nil before the first answer
	// notes say what is wrong.
	notes []string
	// backfill is what the title and the counts are made of.
	backfill timetable.BackfillWatch
	// repeated says that the errors of the run are printed on this terminal after its end, so that
	// the state that stays is without them.
	repeated bool
}

// screen shows the progress of a command that waits.
type screen interface {
	show(n news)
	// end shows the last state, which stays. Nothing else is called afterwards.
	end(n news)
}

// newScreen returns the screen that the flags of the command ask for.
func newScreen(ctx context.Context, p *output.Printer) screen {
	mode := p.Live.For(p.Stderr)
	if p.Structured() && p.Live != terminal.ProgressLive && mode == terminal.ProgressLive {
		mode = terminal.ProgressPlain
	}
	if mode == terminal.ProgressLive {
		return startLive(ctx, p)
	}
	return &plain{w: p.Stderr, quiet: mode == terminal.ProgressNone, shownAt: time.Now()}
}

// plain shows the progress in plain lines, now and then, and notes at once.
type plain struct {
	w       io.Writer
	quiet   bool // only notes
	shown   string
	shownAt time.Time
	notes   []string
}

// plainInterval is the time between two plain lines: a log should show that a run goes on, and stay
// readable.
const plainInterval = 5 * time.Second

// show implements screen.
func (p *plain) show(n news) {
	for _, note := range n.notes {
		if !slices.Contains(p.notes, note) {
			fmt.Fprintln(p.w, note)
		}
	}
	for _, note := range p.notes {
		if !slices.Contains(n.notes, note) {
			fmt.Fprintln(p.w, "no longer: "+note)
		}
	}
	p.notes = n.notes
	if p.quiet || n.run == nil && n.title == "" {
		return
	}
	text := progressText(n)
	if text == p.shown || time.Since(p.shownAt) < plainInterval {
		return
	}
	fmt.Fprintln(p.w, text)
	p.shown, p.shownAt = text, time.Now()
}

// end implements screen.
func (p *plain) end(news) {}

// progressText describes a run in one line: the numbers of all targets, and the steps in progress.
func progressText(n news) string {
	if n.run == nil {
		return n.title
	}
	w := n.run.Run
	c := n.run.counts()
	failed := fmt.Sprintf("%d failed", c.Failed)
	if text := jobs.ToleratedBy(w.Lifecycle, c.Failed, 0); text != "" {
		failed = text
	}
	text := fmt.Sprintf("%s  %s: %d of %d targets done, %s", output.OneLine(w.JobName), w.Lifecycle, c.Ended(), c.Total(), failed)
	if n.title != "" {
		text = n.title + "; " + text
	}
	if running, waiting := c.Busy(), c.Waiting; running+waiting+c.Retrying > 0 {
		text += fmt.Sprintf(", %d running, %d waiting", running, waiting)
	}
	if c.Retrying > 0 {
		text += fmt.Sprintf(", %d retrying%s", c.Retrying, retryIn(n.run))
	}
	if len(n.run.Retries) > 0 {
		text += fmt.Sprintf(" after %q", strings.TrimSpace(terminal.Fit(output.OneLine(n.run.Retries[0].Message), 100)))
	}
	for _, step := range w.Steps {
		if step.EndTime.IsZero() {
			text += fmt.Sprintf("; step %d %s", step.StepID, output.OneLine(step.Name))
		}
	}
	return text
}

// live is a picture on a terminal that is drawn again. What was printed before stays above it.
type live struct {
	program *tea.Program
	ended   chan struct{}
	restore func()
}

// startLive starts the program that draws on stderr. end stops it.
func startLive(ctx context.Context, p *output.Printer) *live {
	l := &live{ended: make(chan struct{}), restore: func() {}}
	environ := os.Environ()
	if p.Color == terminal.ColorAlways { // precedes NO_COLOR, which the library obeys
		environ = slices.DeleteFunc(environ, func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") })
		environ = append(environ, "CLICOLOR_FORCE=1")
	}
	if f, ok := terminal.Raw(p.Stderr).(*os.File); ok {
		l.restore = terminal.HideTyping(f)
	}
	// Without input the program asks the terminal nothing, whose answer could come after the end,
	// and Ctrl-C stays a signal.
	l.program = tea.NewProgram(&picture{paint: p.Color.Painter(p.Stderr), width: 80, height: 24},
		tea.WithContext(context.WithoutCancel(ctx)), tea.WithOutput(terminal.Raw(p.Stderr)), tea.WithInput(nil), tea.WithFPS(10),
		tea.WithoutSignalHandler(), tea.WithEnvironment(environ))
	go func() { // ends with the program, which end stops
		defer close(l.ended)
		_, _ = l.program.Run() // without the terminal, the command goes on
	}()
	return l
}

// show implements screen.
func (l *live) show(n news) { l.program.Send(n) }

// end implements screen.
func (l *live) end(n news) {
	l.program.Send(lastNews(n))
	<-l.ended
	l.restore()
}

// lastNews is the state that stays on the screen.
type lastNews news

// picture is the model of the program.
type picture struct {
	news
	paint         terminal.Painter
	width, height int
	last          bool
}

// clockMsg makes times and countdowns go on between two reads.
type clockMsg struct{}

func clock() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return clockMsg{} }) }

// Init implements tea.Model.
func (m *picture) Init() tea.Cmd { return clock() }

// Update implements tea.Model.
func (m *picture) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case clockMsg:
		return m, clock()
	case news:
		m.news = msg
	case lastNews:
		m.news, m.last = news(msg), true
		return m, tea.Quit
	}
	return m, nil
}

// View implements tea.Model. Two lines are left: for the cursor, and below the last state.
func (m *picture) View() tea.View {
	text := strings.Join(m.lines(), "\n") + "\n"
	if m.last {
		text += "\n" // what follows stands apart
	}
	v := tea.NewView(terminal.CleanScreen(text))
	v.DisableBracketedPasteMode = true
	return v
}

func (m *picture) lines() []string {
	canvas := Canvas{Paint: m.paint, Width: max(20, m.width)}
	height := max(1, m.height-2)
	var lines []string
	if m.title != "" {
		lines = append(lines, m.paint.In(terminal.StyleTitle, terminal.Fit(m.title, canvas.Width)), m.paint.Bar(m.counts, canvas.Width), "")
	}
	if m.run == nil {
		for _, note := range m.notes {
			lines = append(lines, m.paint.In(terminal.StyleBad, terminal.Fit("✗ "+note, canvas.Width)))
		}
		return lines
	}
	run := m.run
	if m.last && m.repeated && !run.Run.Active {
		brief := *run
		brief.Failures, brief.Retries, brief.Run.LastMessage = nil, nil, ""
		run = &brief
	}
	return append(lines, canvas.Page(run, m.notes, height-len(lines))...)
}

// agentNote says that no agent is alive; empty while one is.
func agentNote(live int, active bool) []string {
	if live > 0 || !active {
		return nil
	}
	return []string{"no agent is alive: nothing moves until one starts: jobagent run"}
}
