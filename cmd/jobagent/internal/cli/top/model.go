package top

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb/summary"
)

// model is the state of the program. Only Update changes it.
type model struct {
	ctx      context.Context // of the command
	source   *source
	interval time.Duration

	paint         terminal.Painter
	width, height int
	// whole says that all rows are shown, as plain text.
	whole bool

	state  overview
	detail *runs.Detail // of the run that is shown; nil on the first page
	shown  uuid.UUID
	// awaySince is when the first of the reads failed that have not succeeded since; zero: the last
	// one succeeded.
	awaySince time.Time
	trouble   error
	// reading is the number of the read under way; answers to earlier ones are dropped.
	reading int

	cursor    int // of rows()
	scroll    int // first line of the page of a run
	order     int // index of orders
	filter    string
	filtering bool // keys go into the filter
	help      bool
}

// orders are the orders of the runs, as s shows them one after the other.
var orders = []string{"newest", "most failed", "most left", "longest", "name"}

func newModel(ctx context.Context, s *source, interval time.Duration) *model {
	return &model{ctx: ctx, source: s, interval: interval, width: 100, height: 30}
}

// The messages of reads.
type (
	overviewMsg struct {
		reading int
		state   overview
		err     error
	}
	detailMsg struct {
		reading int
		detail  *runs.Detail
		err     error
	}
	tickMsg struct{ reading int }
)

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return m.later() }

// later reads again after the interval.
func (m *model) later() tea.Cmd {
	reading := m.reading
	return tea.Tick(m.interval, func(time.Time) tea.Msg { return tickMsg{reading} })
}

// read reads the page that is shown. One read at a time is under way: an answer leads to the next
// read.
func (m *model) read() tea.Cmd {
	m.reading++
	reading, source, ctx, before, shown := m.reading, m.source, m.ctx, m.detail, m.shown
	if shown != uuid.Nil {
		return func() tea.Msg {
			d, err := source.detail(ctx, shown, before)
			return detailMsg{reading, d, err}
		}
	}
	return func() tea.Msg {
		o, err := source.overview(ctx, false)
		return overviewMsg{reading, o, err}
	}
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		if msg.reading == m.reading {
			return m, m.read()
		}
	case overviewMsg:
		if msg.reading != m.reading {
			return m, nil
		}
		if m.note(msg.err) {
			m.state = msg.state
		}
		m.move(0)
		return m, m.later()
	case detailMsg:
		if msg.reading != m.reading {
			return m, nil
		}
		if m.note(msg.err) {
			m.detail = msg.detail
		}
		return m, m.later()
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// note records the error of a read, and reports whether there was none.
func (m *model) note(err error) bool {
	if err == nil {
		m.awaySince, m.trouble = time.Time{}, nil
		return true
	}
	if m.awaySince.IsZero() {
		m.awaySince = time.Now()
	}
	m.trouble = err
	return false
}

// key handles a key.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	if name == "ctrl+c" {
		return tea.Quit
	}
	if m.filtering {
		m.filterKey(name, msg.Text)
		return nil
	}
	if m.help {
		m.help = false
		if name != "q" {
			return nil
		}
	}
	switch name {
	case "q":
		return tea.Quit
	case "?":
		m.help = true
	case "/":
		m.filtering, m.cursor = true, 0
	case "s":
		m.order = (m.order + 1) % len(orders)
	case "r":
		return m.read()
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.move(-10)
	case "pgdown", "space":
		m.move(10)
	case "home", "g":
		m.move(-1 << 20)
	case "end", "G":
		m.move(1 << 20)
	case "enter", "right", "l":
		return m.open()
	case "esc", "left", "h", "backspace":
		return m.back()
	}
	return nil
}

// filterKey handles a key while the filter is edited.
func (m *model) filterKey(name, text string) {
	switch name {
	case "enter":
		m.filtering = false
	case "esc":
		m.filtering, m.filter = false, ""
	case "backspace":
		if runes := []rune(m.filter); len(runes) > 0 {
			m.filter = string(runes[:len(runes)-1])
		}
	case "ctrl+u":
		m.filter = ""
	default:
		if len(m.filter) < 100 {
			m.filter += terminal.Clean(text)
		}
	}
	m.cursor = 0
}

// move moves the cursor, or the page of a run.
func (m *model) move(by int) {
	if m.shown != uuid.Nil {
		m.scroll = max(0, min(m.scroll+by, len(m.detailLines())-1))
		return
	}
	m.cursor = max(0, min(m.cursor+by, len(m.rows())-1))
}

// open shows the run under the cursor.
func (m *model) open() tea.Cmd {
	if m.shown != uuid.Nil {
		return nil
	}
	rows := m.rows()
	if m.cursor >= len(rows) {
		return nil
	}
	m.shown, m.detail, m.scroll = rows[m.cursor].run(), nil, 0
	return m.read()
}

// back shows the first page, or all rows.
func (m *model) back() tea.Cmd {
	if m.shown == uuid.Nil {
		m.filter, m.cursor = "", 0
		return nil
	}
	m.shown, m.detail = uuid.Nil, nil
	return m.read()
}

// row is a row on which the cursor can stand: one of the two is set.
type row struct {
	active *summary.ActiveRun
	failed *summary.FailureGroup
}

// run returns the run that a row leads to.
func (r row) run() uuid.UUID {
	if r.active != nil {
		return r.active.ID
	}
	return r.failed.LastRun
}

// rows returns the runs and then the failures that the filter accepts, in their orders.
func (m *model) rows() []row {
	var rows []row
	for _, r := range m.runs() {
		rows = append(rows, row{active: &r})
	}
	for _, f := range m.failures() {
		rows = append(rows, row{failed: &f})
	}
	return rows
}

// accepts reports whether one of the texts contains the filter.
func (m *model) accepts(texts ...string) bool {
	return m.filter == "" || slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(m.filter))
	})
}

// runs returns the active runs that the filter accepts, in the chosen order.
func (m *model) runs() []summary.ActiveRun {
	list := make([]summary.ActiveRun, 0, len(m.state.Runs))
	for _, r := range m.state.Runs {
		if m.accepts(r.JobName, r.StepName, r.ID.String(), string(r.Lifecycle)) {
			list = append(list, r)
		}
	}
	left := func(r summary.ActiveRun) int { return r.Running + r.Due + r.Retrying + r.Held + r.Callbacks }
	slices.SortStableFunc(list, func(a, b summary.ActiveRun) int {
		switch orders[m.order] {
		case "most failed":
			return b.Failed - a.Failed
		case "most left":
			return left(b) - left(a)
		case "longest":
			return a.CreateTime.Compare(b.CreateTime)
		case "name":
			return strings.Compare(a.JobName, b.JobName)
		}
		return b.CreateTime.Compare(a.CreateTime)
	})
	return list
}

// failures returns the groups of failures that the filter accepts, the latest first.
func (m *model) failures() []summary.FailureGroup {
	list := make([]summary.FailureGroup, 0, len(m.state.failures.Errors))
	for _, f := range m.state.failures.Errors {
		if m.accepts(f.JobName, f.StepName, f.Message, f.Server, f.Database) {
			list = append(list, f)
		}
	}
	return list
}

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(terminal.CleanScreen(m.content()))
	v.AltScreen = true
	v.WindowTitle = "jobagent top"
	return v
}
