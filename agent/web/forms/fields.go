package forms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/jobs/manifest"
)

// confirmation makes the form with values. Problems are those of fields, by name; the first one has
// the focus, unless focus names another field.
func (s *subject) confirmation(values manifest.Values, problems map[string]string, focus string) *page.Confirmation {
	b := builder{subject: s, values: values, problems: problems, focus: focus}
	c := &page.Confirmation{Nav: s.nav, Button: "Save", Back: s.back(), Form: &page.Form{Tag: s.tag}}
	switch {
	case s.name != "":
		c.Title = "Edit the " + s.noun + " " + s.name
	case s.job != "":
		c.Title = "Add a " + s.noun + " to " + s.job
	default:
		c.Title = "New " + s.noun
	}
	if s.kind == manifest.KindJob && s.part == "" && s.name == "" {
		c.Effects = []string{"A job begins without steps. Add them on its page."}
	}
	c.Form.Parts = b.parts(s.fields, "")
	return c
}

// builder makes the parts of a form.
type builder struct {
	*subject
	values   manifest.Values
	problems map[string]string
	focus    string
	focused  bool
}

// labels are the labels of fields whose names do not say enough.
var labels = map[string]string{
	"http": "HTTP", "rrule": "RRule", "sap": "SAP", "zone": "Time zone", "cron5": "Cron, five fields", "cron6": "Cron, six fields",
	"max_concurrent_targets": "Maximum of concurrent targets", "spec": "Definition", "after": "After the steps", "job_pattern": "Jobs whose names match",
}

// labelOf returns the label of a field.
func labelOf(name string) string {
	if text, ok := labels[name]; ok {
		return text
	}
	text := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// label returns the label of a field of the form. Steps come after steps, and jobs after jobs.
func (s *subject) label(name string) string {
	if name == "after" && s.part != "steps" {
		return "After the jobs"
	}
	return labelOf(name)
}

func (b *builder) parts(list []manifest.Field, prefix string) []page.Part {
	var parts []page.Part
	for _, f := range list {
		name := prefix + f.Name
		if b.name != "" && prefix == "" && slices.Contains(b.fixed, f.Name) {
			if b.values[name] != "" {
				parts = append(parts, page.Part{Field: page.Field{Name: name, Label: labelOf(f.Name), Value: b.values[name], Kind: "fixed"}})
			}
			continue
		}
		p := page.Part{Field: page.Field{Name: name, Label: b.label(f.Name), Help: f.Doc, Value: b.values[name], Required: f.Required}}
		switch f.Kind {
		case manifest.FieldFlag:
			p.Kind = "checkbox"
		case manifest.FieldNumber:
			p.Kind = "number"
		case manifest.FieldTime:
			p.Kind = "datetime"
		case manifest.FieldChoice:
			p.Kind, p.Options = "select", options(f, p.Value)
		case manifest.FieldScript, manifest.FieldJSON:
			p.Kind = "textarea"
		case manifest.FieldLines:
			p.Kind, p.Help = "textarea", f.Doc+" One a line."
		case manifest.FieldOneOf:
			p.Kind, p.Label, p.Help = "select", map[string]string{"schedule": "Kind of the schedule", "command": "What it does"}[f.Name], ""
			p.Options = options(f, p.Value)
			parts = append(parts, b.finish(p))
			p = page.Part{Field: page.Field{Name: name + ".text", Label: labelOf(f.Name), Help: f.Doc, Value: b.values[name+".text"], Required: true, Kind: "textarea"}}
		case manifest.FieldPart:
			p.Kind, p.Parts = "part", b.parts(f.Fields, name+".")
		case manifest.FieldRows:
			p.Kind = "rows"
			p = b.finish(p)
			for i := range b.values.Rows(name) {
				id := fmt.Sprintf("%s[%d]", name, i)
				p.Rows = append(p.Rows, page.Row{ID: id, Title: fmt.Sprintf("%s %d", strings.TrimSuffix(labelOf(f.Name), "s"), i+1), Parts: b.parts(f.Fields, id+".")})
			}
			parts = append(parts, p)
			continue
		case manifest.FieldText:
			p.MaxLength, p.Suggestions = f.Max, b.suggestions(f.Name)
			if f.Name == "description" {
				p.Kind = "textarea"
			}
		}
		parts = append(parts, b.finish(p))
	}
	return parts
}

// finish adds the problem and the focus of a field.
func (b *builder) finish(p page.Part) page.Part {
	p.Problem = b.problems[p.Name]
	if !b.focused && (b.focus == p.Name || b.focus == "" && p.Problem != "") {
		p.Focus, b.focused = true, true
	}
	return p
}

// options returns the options of a choice.
func options(f manifest.Field, value string) []page.Option {
	var list []page.Option
	switch {
	case f.Required && !slices.Contains(f.Choices, value):
		list = append(list, page.Option{Text: "Choose"})
	case !f.Required && f.Default == "":
		list = append(list, page.Option{Text: "The default"})
	}
	for _, c := range f.Choices {
		text := c
		if f.Kind == manifest.FieldOneOf {
			text = labelOf(c)
			if c == "command" {
				text = "T-SQL"
			}
		}
		list = append(list, page.Option{Value: c, Text: text})
	}
	if value != "" && !slices.Contains(f.Choices, value) { // what was sent stays
		list = append(list, page.Option{Value: value, Text: value})
	}
	return list
}

// suggestions returns the names of objects that a field may refer to.
func (b *builder) suggestions(field string) []string {
	if field != "target_group" {
		return nil
	}
	var names []string
	for _, o := range b.state.Own() {
		if o.Kind == manifest.KindTargetGroup {
			names = append(names, o.Name())
		}
	}
	return names
}
