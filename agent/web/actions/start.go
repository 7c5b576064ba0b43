package actions

import (
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// maxParameters bounds the parameters of a run, in UTF-16 code units (jobs.sp_start_job).
const maxParameters = 102_400

// The fields of the form that starts a run. A declared parameter has the field param.NAME.
const (
	fieldParameters   = "parameters"
	fieldAllowMissing = "allow_missing"
	fieldParam        = parameters.Param + "."
)

// startFields returns the fields of the parameters: one for each that the job declares, or one for
// all.
func startFields(job startcheck.Job) []page.Field {
	var fields []page.Field
	for _, d := range job.Declared {
		fields = append(fields, parameterField(d))
	}
	if len(fields) == 0 {
		help := `A JSON object such as {"tenant": "contoso", "days": 7}. The steps use its members as $(param.tenant).`
		if names := parameters.Unset(job.Used, nil); len(names) > 0 {
			help += " The steps use: " + strings.Join(names, ", ") + "."
		}
		fields = append(fields, page.Field{Name: fieldParameters, Label: "Parameters", Kind: "textarea", MaxLength: maxParameters, Help: help})
	}
	if given, err := parameters.Complete(optional(job.Declared), nil); err == nil && len(parameters.Unset(job.Used, given)) > 0 {
		fields = append(fields, page.Field{
			Name: fieldAllowMissing, Kind: "checkbox", Label: "Start although steps use parameters that are not given",
			Help: "A step that lacks a parameter fails on each of its targets.",
		})
	}
	return fields
}

// optional returns declarations of which none is required.
func optional(list []parameters.Declaration) []parameters.Declaration {
	list = slices.Clone(list)
	for i := range list {
		list[i].Required = false
	}
	return list
}

// parameterField returns the field of a declared parameter.
func parameterField(d parameters.Declaration) page.Field {
	f := page.Field{Name: fieldParam + d.Name, Label: d.Name, Required: d.Required, Value: d.Default.Text, MaxLength: maxParameters}
	values := make([]string, 0, len(d.Choices))
	for _, c := range d.Choices {
		values = append(values, c.Text)
	}
	help := map[parameters.Type]string{
		parameters.TypeText: "A text.", parameters.TypeInteger: "An integer.", parameters.TypeNumber: "A number.",
		parameters.TypeBoolean: "True or false.", parameters.TypeDate: "A date such as 2026-01-31.",
		parameters.TypeTime: "A time such as 2026-01-31T22:00:00, without a zone.",
	}[d.Type]
	switch d.Type {
	case parameters.TypeInteger, parameters.TypeNumber:
		f.Kind = "number"
	case parameters.TypeBoolean:
		values = []string{"true", "false"}
	}
	if len(values) > 0 {
		f.Kind, f.MaxLength = "select", 0
		if f.Value == "" {
			f.Options = append(f.Options, page.Option{Value: "", Text: "–"})
		}
		for _, v := range values {
			f.Options = append(f.Options, page.Option{Value: v, Text: v})
		}
	}
	if d.Default.Kind != parameters.Null {
		help += " Empty: the default, " + d.Default.Text + "."
	}
	f.Help = strings.TrimSpace(d.Description + " " + help)
	return f
}

// startParameters returns the parameters that the form gives. The error is about the field.
func startParameters(r *page.Request, job startcheck.Job) (text, field string, err error) {
	if len(job.Declared) == 0 {
		return value(r, fieldParameters), fieldParameters, nil
	}
	values := map[string]parameters.Value{}
	for _, d := range job.Declared {
		typed := r.Form.Get(fieldParam + d.Name)
		if d.Type != parameters.TypeText {
			typed = strings.TrimSpace(typed)
		}
		if typed == "" {
			if d.Required {
				return "", fieldParam + d.Name, errors.New("a value is missing")
			}
			continue
		}
		if values[d.Name], err = d.Read(typed); err != nil {
			return "", fieldParam + d.Name, err
		}
	}
	none, err := parameters.Parse("{}")
	if err != nil {
		return "", "", err
	}
	return none.With(values).Text(), "", nil
}

// checkStart refuses a run that would lack parameters.
func checkStart(job startcheck.Job, text string, allowMissing bool) error {
	err := job.Check(text, allowMissing)
	var missing *parameters.MissingError
	if err == nil || errors.As(err, &missing) || len(job.Declared) > 0 {
		return err
	}
	return nil // the control database says what is wrong with the object
}
