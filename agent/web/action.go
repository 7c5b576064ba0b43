package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/web/page"
)

// The fields that the server adds to each form.
const (
	fieldCSRF      = "csrf"
	fieldOperation = "operation"
)

// confirm shows the form of an action.
func (s *Server) confirm(ctx context.Context, w http.ResponseWriter, v *visit, a page.Action) error {
	v.Operation = uuid.NewString()
	return s.showForm(ctx, w, v, a, nil, http.StatusOK)
}

// showForm shows the form of an action. refusal says what is wrong with the input before.
func (s *Server) showForm(ctx context.Context, w http.ResponseWriter, v *visit, a page.Action, refusal *page.InputError, status int) error {
	c, err := a.Confirm(ctx, v.Request)
	if err != nil {
		return err
	}
	general := ""
	if refusal != nil {
		general = refusal.Problem
		for i := range c.Fields {
			if c.Fields[i].Name == refusal.Field {
				c.Fields[i].Problem, general = refusal.Problem, ""
			}
		}
	}
	for i := range c.Fields { // what was typed stays
		if c.Fields[i].Kind == "hidden" {
			continue
		}
		if v.Form.Has(c.Fields[i].Name) {
			c.Fields[i].Value = v.Form.Get(c.Fields[i].Name)
		} else if v.Form != nil && c.Fields[i].Kind == "checkbox" {
			c.Fields[i].Value = ""
		}
	}
	v.notice = general
	return s.showConfirmation(w, v, c, status)
}

// showConfirmation shows a form.
func (s *Server) showConfirmation(w http.ResponseWriter, v *visit, c *page.Confirmation, status int) error {
	view := &page.View{
		Title: c.Title, Nav: c.Nav, Template: "confirm", Equivalents: c.Equivalents,
		Crumbs: []page.Link{{Text: "Back", Href: c.Back}},
		Data:   map[string]any{"C": c, "CSRF": v.session.CSRF, "Operation": v.Operation, "Action": s.prefix + v.HTTP.URL.RequestURI()},
	}
	if c.Form != nil {
		view.Template = "form"
	}
	if c.Back == "" {
		view.Crumbs = nil
	}
	return s.show(w, v, s.sets[frameName], view, status)
}

// act carries an action out.
func (s *Server) act(ctx context.Context, w http.ResponseWriter, v *visit, a page.Action) error {
	form, err := s.form(w, v)
	if err != nil {
		return err
	}
	v.Form = form
	operation, err := uuid.Parse(form.Get(fieldOperation))
	if err != nil {
		return forged()
	}
	v.Operation = operation.String()
	done, err := s.operations.do(ctx, v.session.ID+v.HTTP.URL.EscapedPath()+v.Operation, func() (*page.Done, error) { return a.Do(ctx, v.Request) })
	var refused *page.InputError
	var again *page.Again
	switch {
	case errors.As(err, &again):
		v.notice = again.Problem
		return s.showConfirmation(w, v, again.Confirmation, again.Status)
	case errors.As(err, &refused):
		return s.showForm(ctx, w, v, a, refused, http.StatusUnprocessableEntity)
	case err != nil:
		return err
	}
	s.hub.Poke(v.Base)
	if done.Notice != "" {
		s.cfg.Sessions.Notify(w, v.session, done.Notice)
	}
	http.Redirect(w, v.HTTP, done.Location, http.StatusSeeOther)
	return nil
}

// form reads a form, and refuses one that is not of the session.
func (s *Server) form(w http.ResponseWriter, v *visit) (url.Values, error) {
	v.HTTP.Body = http.MaxBytesReader(w, v.HTTP.Body, maxForm)
	if err := v.HTTP.ParseForm(); err != nil {
		return nil, formProblem(err)
	}
	form := v.HTTP.PostForm
	if v.session.Forged(form.Get(fieldCSRF)) {
		return nil, forged()
	}
	form.Del(fieldCSRF)
	return form, nil
}
