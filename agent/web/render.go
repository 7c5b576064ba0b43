package web

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/controldb/identity"
)

// set is a set of pages with its parsed templates.
type set struct {
	page.Set
	templates *template.Template
}

// newSet parses the templates of a set.
func (s *Server) newSet(one page.Set) (*set, error) {
	t, err := page.Parse(one.Files, template.FuncMap{
		"static": func(name string) (string, error) { return s.static.url(s.prefix, name) },
	})
	if err != nil {
		return nil, err
	}
	return &set{Set: one, templates: t}, nil
}

// frame is the dot of the layout.
type frame struct {
	*page.Request               // nil outside of control databases
	View          *page.View    //
	Body          template.HTML // the rendered template of the page
	Notice        string
	Refused       bool              // the notice says what is wrong with a form
	Pause         identity.Identity // whether the control database is paused
	Session       *session.Session  // nil before signing in
	Database      string            // the name in paths
	Databases     []page.Link       // of the person, if there are several
	Nav           []navigation
	Actions       []page.Link // that the viewer may do
	Home, Prefix  string
	Clock         int64  // the server's time, in ms since 1970
	Theme         string // light, dark, or empty: as the browser says
	Styles        []string
	Scripts       []string
}

// Applies reports whether a link applies in the phase that the page shows.
func (f *frame) Applies(l page.Link) bool {
	return l.When == "" || slices.Contains(strings.Fields(f.View.Phase), l.When)
}

// navigation is an entry of the navigation.
type navigation struct {
	Key, Text, Href, Icon string
	Current               bool
	// Role is the least role that sees it; RoleNone means everyone.
	Role rest.Role
}

// entriesOfNavigation are the pages that the navigation leads to.
var entriesOfNavigation = []navigation{
	{Key: "overview", Text: "Overview", Href: "/", Icon: "home"}, {Key: "runs", Text: "Runs", Href: "/runs", Icon: "play"},
	{Key: "jobs", Text: "Jobs", Href: "/jobs", Icon: "list"}, {Key: "groups", Text: "Target groups", Href: "/groups", Icon: "target"},
	{Key: "databases", Text: "Databases", Href: "/databases", Icon: "grid"}, {Key: "schedules", Text: "Schedules", Href: "/schedules", Icon: "calendar"},
	{Key: "questions", Text: "Questions", Href: "/questions", Icon: "help", Role: rest.RoleOperator},
	{Key: "agents", Text: "Agents", Href: "/agents", Icon: "server"},
	{Key: "limits", Text: "Limits", Href: "/limits", Icon: "gauge"}, {Key: "alerts", Text: "Alerts", Href: "/alerts", Icon: "bell"},
	{Key: "audit", Text: "Audit", Href: "/audit", Icon: "book"},
}

// showPage answers with a page.
func (s *Server) showPage(ctx context.Context, w http.ResponseWriter, v *visit, one *set, p page.Page) error {
	view, err := p.Handle(ctx, v.Request)
	if err != nil {
		return err
	}
	if view.Write != nil {
		view.Write(w)
		return nil
	}
	return s.show(w, v, one, view, http.StatusOK)
}

// show renders a view inside the frame. Nothing is written before all of it is rendered.
func (s *Server) show(w http.ResponseWriter, v *visit, one *set, view *page.View, status int) error {
	if view.Template == "" {
		return errNoTemplate
	}
	var body bytes.Buffer
	if err := one.templates.ExecuteTemplate(&body, templateName(one, view.Template), page.Dot{Request: v.Request, View: view, Data: view.Data}); err != nil {
		return fmt.Errorf("render %s: %w", view.Template, err)
	}
	f := s.frame(v.HTTP, v.session, v)
	f.View, f.Body = view, template.HTML(body.String()) //nolint:gosec // rendered by html/template
	f.Pause = v.place.pause.read(s.calling(v.HTTP.Context(), v), v.Store, s.cfg.Now())
	f.Notice = s.cfg.Sessions.Notice(w, v.HTTP, v.session)
	if v.notice != "" {
		f.Notice, f.Refused = v.notice, true
	}
	for _, l := range view.Actions {
		if l.Role == rest.RoleNone || v.May(l.Role) {
			f.Actions = append(f.Actions, l)
		}
	}
	for i := range f.Nav {
		f.Nav[i].Current = f.Nav[i].Key == view.Nav
	}
	return s.write(w, f, one, status)
}

// body renders a template of the frame into a frame.
func (s *Server) body(f *frame, name string, data any) error {
	var text bytes.Buffer
	if err := s.sets[frameName].templates.ExecuteTemplate(&text, name, data); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	f.Body = template.HTML(text.String()) //nolint:gosec // rendered by html/template
	return nil
}

// templateName returns the name of a template: that of a file, or of a block.
func templateName(one *set, name string) string {
	if one.templates.Lookup(name+".html") != nil {
		return name + ".html"
	}
	return name
}

// RenderBlock renders a block of a set for live updates, for pages below base. It is the same for
// all viewers, so the viewer is nobody, with the role of readers. It implements live.Renderer.
func (s *Server) RenderBlock(w io.Writer, setName, block, base string, data any) error {
	one := s.sets[setName]
	if one == nil {
		return fmt.Errorf("there is no set %q", setName)
	}
	return one.templates.ExecuteTemplate(w, templateName(one, block), page.Dot{
		Request: &page.Request{HTTP: &http.Request{URL: &url.URL{}}, Role: rest.RoleReader, Base: base, Now: s.cfg.Now()}, View: &page.View{}, Data: data,
	})
}

// frame returns what the layout shows around a page. one and v may be nil.
func (s *Server) frame(r *http.Request, one *session.Session, v *visit) *frame {
	f := &frame{
		Session: one, Home: s.prefix + Path, Prefix: s.prefix, Theme: theme(r), View: &page.View{}, Clock: s.cfg.Now().UnixMilli(),
	}
	if v == nil {
		return f
	}
	f.Request, f.Database = v.Request, v.place.name
	for _, n := range entriesOfNavigation {
		if n.Role != rest.RoleNone && !v.May(n.Role) {
			continue
		}
		n.Href = v.Base + n.Href
		f.Nav = append(f.Nav, n)
	}
	if list := s.visible(one); len(list) > 1 {
		for _, p := range list {
			f.Databases = append(f.Databases, page.Link{Text: p.name, Href: s.base(p.name) + "/"})
		}
	}
	return f
}

// theme returns the theme that a person has chosen.
func theme(r *http.Request) string {
	if c, err := r.Cookie("jobagent-theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// write renders the layout and writes the answer. A set's styles are its files *.css; scripts are
// those that the view names.
func (s *Server) write(w http.ResponseWriter, f *frame, one *set, status int) error {
	names := []string{}
	for name := range s.static.files {
		if strings.HasPrefix(name, one.Name+"/") && strings.HasSuffix(name, ".css") && one.Name != frameName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var err error
	for _, name := range slices.Concat([]string{frameName + "/app.css"}, f.View.Styles, names) {
		if name, err = s.static.url(s.prefix, name); err != nil {
			return err
		}
		f.Styles = append(f.Styles, name)
	}
	scripts := []string{frameName + "/base.js"}
	if f.View.Topic != "" {
		scripts = append(scripts, liveName+"/events.js")
	}
	for _, name := range append(scripts, f.View.Scripts...) {
		if name, err = s.static.url(s.prefix, name); err != nil {
			return err
		}
		f.Scripts = append(f.Scripts, name)
	}
	var text bytes.Buffer
	if err := s.sets[frameName].templates.ExecuteTemplate(&text, "layout.html", f); err != nil {
		return fmt.Errorf("render the layout: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the client may have gone
	return nil
}
