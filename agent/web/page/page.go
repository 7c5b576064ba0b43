// Package page is the contract between the dashboard's server (agent/web) and its pages. The pages
// of a subject are a [Set], in a package of their own. Pages show what methods of controldb return,
// and decide nothing: what changes something is an [Action], which calls a procedure.
package page

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/controldb"
)

// Set is the pages of a subject.
type Set struct {
	// Name is unique: overview, runs, jobs, … Static files have the path /ui/static/NAME/FILE.
	Name string
	// Files holds the templates (*.html, parsed together with the partial templates of the server)
	// and static files (*.js, *.css, *.svg).
	Files fs.FS
	Pages []Page
	// Actions change something.
	Actions []Action
	// Topics are the sources of live updates.
	Topics []live.Topic
}

// Page is one page. All pages need a caller.
type Page struct {
	// Path is a pattern of http.ServeMux for the path below /ui/{database}, such as /runs/{run}.
	// The method is GET.
	Path string
	// Role is the least role that may see the page.
	Role rest.Role
	// Handle makes the page. Calls of r.Store with ctx run as the database user of the viewer's
	// role. Errors of controldb such as "not found" become pages that say so.
	Handle func(ctx context.Context, r *Request) (*View, error)
}

// Action is something that a person does. The server makes two pages of it: GET shows a form that
// says what will happen, and POST does it, so that it works without scripts. The server checks the
// role, the CSRF token and the origin before Do.
type Action struct {
	// Path is a pattern as in Page, such as /runs/{run}/stop.
	Path string
	// Role is the least role that may do it. Pages link to actions that the viewer may do (see
	// [Request.May]).
	Role rest.Role
	// Confirm returns the form. It is called again, with r.Form, if Do refuses the input.
	Confirm func(ctx context.Context, r *Request) (*Confirmation, error)
	// Do carries the action out. An *InputError shows the form again.
	Do func(ctx context.Context, r *Request) (*Done, error)
}

// Request is a request whose page or action is known.
type Request struct {
	HTTP *http.Request
	// Entry is the control database, and Store calls it.
	Entry *rest.Entry
	Store *controldb.Store
	// Viewer is the person, and Role is the person's role at the control database.
	Viewer rest.Principal
	Role   rest.Role
	// Base is the path of the control database's pages, such as /ui/main, without a slash at the
	// end and with the prefix of a reverse proxy.
	Base string
	// Form holds the fields of an action's form; nil for pages.
	Form url.Values
	// Operation is a new ID for each form that was shown. An action that starts a run uses it as
	// the run's ID, so that a form that is sent twice starts one run.
	Operation string
	// Now is the server's time. Ages that a page shows are differences to the database's clock
	// where a view has one.
	Now time.Time
}

// May reports whether the viewer's role includes role.
func (r *Request) May(role rest.Role) bool { return r.Role >= role }

// Value returns a parameter of the path, unescaped. It undoes [Segment].
func (r *Request) Value(name string) string {
	return strings.TrimPrefix(r.HTTP.PathValue(name), "~")
}

// Path returns the path of a page below [Request.Base]. Each part is one segment, and is escaped:
// r.Path("jobs", name) is /ui/main/jobs/NAME.
func (r *Request) Path(segments ...string) string {
	var b strings.Builder
	b.WriteString(r.Base)
	for _, one := range segments {
		b.WriteString("/" + Segment(one))
	}
	if len(segments) == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

// With returns a path with query parameters: names and values that follow each other. Empty values
// are left out.
func With(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// Query returns a query parameter; empty if it is absent.
func (r *Request) Query(name string) string { return r.HTTP.URL.Query().Get(name) }

// View is what a page shows.
type View struct {
	// Title is the text of <title> and <h1>.
	Title string
	// Nav is the entry of the navigation that is marked: overview, runs, jobs, groups, databases,
	// schedules, questions, agents, limits, alerts or audit.
	Nav string
	// Crumbs lead to the page, from the outermost.
	Crumbs []Link
	// Template is a template of the set: the file's name without .html. Data is its dot.Data; the
	// whole dot is a [Dot].
	Template string
	Data     any
	// Actions are shown beside the title. Those that the viewer may not do are left out.
	Actions []Link
	// Phase is words about the state, separated by blanks, on which actions depend: see Link.When.
	// A block that is updated live changes it with the attribute data-phase.
	Phase string
	// Equivalents are shown at the end of the page, to copy.
	Equivalents []Equivalent
	// Scripts are further ES modules of sets: "runs/grid.js".
	Scripts []string
	// Styles are stylesheets of other sets, beside those of its own: "code/code.css".
	Styles []string
	// Topic names the live updates, such as "run/0f8fad5b-…"; empty means none. Without a script of
	// its own, a page is updated by events of [live.Fragments].
	Topic string
	// Write, if it is not nil, writes the answer in place of a template: JSON for scripts, for
	// example. Headers of the server, such as the Content-Security-Policy, are set before.
	Write func(w http.ResponseWriter)
}

// Dot is the dot of a page's template.
type Dot struct {
	*Request
	View *View
	Data any
}

// Link is a link.
type Link struct {
	Text string
	// Href is a path; see [Request.Base].
	Href string
	// Danger marks an action that ends or deletes something.
	Danger bool
	// Role is the least role that sees the link; RoleNone means everyone.
	Role rest.Role
	// When is a word of [View.Phase]: without it, the link is hidden until the phase has it. Empty
	// means always.
	When string
}

// Equivalent is what a page shows or an action does, for another door.
type Equivalent struct {
	// Door is CLI or T-SQL.
	Door string
	Text string
}

// Confirmation is the form of an action.
type Confirmation struct {
	Title string
	// Effects say what will happen, one sentence each, with numbers: "Stops the run on 812 targets
	// that have not ended."
	Effects []string
	Fields  []Field
	// Button is the text of the button, a verb: "Stop the run".
	Button      string
	Danger      bool
	Equivalents []Equivalent
	// Back is the path of the page from which people come.
	Back string
	// Nav is as in [View].
	Nav string
	// Form, if it is not nil, is shown in place of Fields and Button.
	Form *Form
}

// Form is the form of a definition. All of its buttons send the field do: preview, save, add:LIST
// or remove:ROW. Do answers what does not save with an [Again].
type Form struct {
	// Tag identifies what the form was filled with; empty for something new.
	Tag   string
	Parts []Part
	// Preview is what saving would do; nil: it was not asked for.
	Preview *Preview
}

// Part is a field of a form, an optional part with fields of its own (Kind part), or a list of
// rows (Kind rows). Kind fixed is a value that cannot be changed.
type Part struct {
	Field
	Parts []Part // of a part
	Rows  []Row
	// Suggestions are values that exist; others may be typed.
	Suggestions []string
	// Focus says that the field has the focus first.
	Focus bool
}

// Row is a row of a list.
type Row struct {
	// ID is LIST[N].
	ID, Title string
	Parts     []Part
}

// Preview says what saving a form does.
type Preview struct {
	// Same says that nothing would change.
	Same bool
	// Lines are the differences to what is stored, as files have it.
	Lines []DiffLine
	// Notes are further sentences.
	Notes       []string
	Equivalents []Equivalent
}

// DiffLine is a line of a difference: Sign is "+", "−", "@" for lines that are left out, or empty.
type DiffLine struct{ Sign, Text string }

// Again shows a form once more: nothing was saved.
type Again struct {
	Confirmation *Confirmation
	// Status is that of HTTP.
	Status int
	// Problem says what is wrong with the form as a whole.
	Problem string
}

// Error implements error.
func (a *Again) Error() string { return "the form is shown again: " + a.Problem }

// Field is a field of a form.
type Field struct {
	Name, Label, Help, Value string
	// Kind is text (default), textarea, number, datetime, checkbox, select or hidden.
	Kind     string
	Options  []Option
	Required bool
	// MaxLength is in UTF-16 code units; 0 means no limit.
	MaxLength int
	// Problem says what is wrong with Value; the server sets it from an [InputError].
	Problem string
}

// Option is an option of a select field.
type Option struct{ Value, Text string }

// Done is the result of an action: the page to go to, and what it says there once.
type Done struct{ Location, Notice string }

// InputError means that a field of a form is invalid.
type InputError struct{ Field, Problem string }

// Error implements error.
func (e *InputError) Error() string { return "invalid " + e.Field + ": " + e.Problem }

// Sentence makes a message of an error a sentence. A message that begins with the name of a field,
// which has an underscore, keeps it.
func Sentence(text string) string {
	if text == "" {
		return text
	}
	if text[0] >= 'a' && text[0] <= 'z' && !strings.Contains(strings.SplitN(text, " ", 2)[0], "_") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	return text
}
