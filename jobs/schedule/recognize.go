package schedule

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/schedule/internal/foreign"
	"github.com/jobagent/jobagent/jobs/schedule/internal/syntax"
)

// maxRecognized is the largest size, in bytes, of a text that is recognized. Texts of forms and
// lines of cron are far shorter.
const maxRecognized = 16 << 10

// Recognize names the language of a text whose kind is not known: a form, a kind, or a document
// that a command imports. form or kind is set if the text is one of them. ok is false for a text
// that is not recognized, or that is valid in several kinds. A recognized text may have faults.
func Recognize(text string) (what string, form Form, kind Kind, ok bool) {
	if len(text) > maxRecognized {
		return "", "", "", false
	}
	if r, ok := foreign.Recognize(text, nil); ok {
		if r.Form != nil {
			form = Form(r.Form.Name)
		}
		return r.What, form, "", true
	}
	kinds := validKinds("", text, Options{})
	if len(kinds) != 1 {
		return "", "", "", false
	}
	return "a text of the kind " + string(kinds[0].kind), "", kinds[0].kind, true
}

// kindText is a text of a kind.
type kindText struct {
	kind Kind
	spec string
}

// validKinds returns the kinds in which a text is valid, except for one. The cron of seven fields
// of the kind sap is also found without its JSON.
func validKinds(except Kind, text string, opts Options) (valid []kindText) {
	opts.probing, opts.Uncounted, opts.MinInterval = true, true, 0
	if opts.Created.IsZero() && opts.assumed.IsZero() {
		opts.assumed = assumedCreation
	}
	bare := !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`)
	for _, kind := range Kinds() {
		spec := text
		if kind == KindSAP && bare {
			spec = `{"cron": ` + syntax.Quote(text) + "}"
		}
		if kind == except || bare && dialects[kind].Line == "" && kind != KindSAP {
			continue
		}
		if _, err := parse(kind, []byte(spec), opts); err == nil {
			valid = append(valid, kindText{kind, spec})
		}
	}
	return valid
}

// recognized returns the fault of a text of another kind or language than the given kind, which
// refuses the text with err. ok is false if the faults of err are better.
func recognized(kind Kind, spec []byte, opts Options, err error) (fault Fault, ok bool) {
	var all *Error
	if len(spec) > maxRecognized || !errors.As(err, &all) {
		return Fault{}, false
	}
	dialect := dialects[kind]
	if dialect == nil {
		return formAsKind(kind, string(spec), opts, all.Faults[0])
	}
	path, text := "", strings.TrimSpace(strings.TrimPrefix(string(spec), "\ufeff"))
	if dialect.Line != "" {
		path, text = dialect.Line, lineOf(dialect, text)
	}
	if !concerns(all.Faults, path) {
		return Fault{}, false
	}
	fault = Fault{Path: path, Value: syntax.Quote(text)}
	var zone *time.Location
	if opts.Zone != "" {
		if zone, err = LoadZone(opts.Zone); err != nil {
			zone = nil // azure-scheduler accepts an offset
		}
	}
	if r, ok := foreign.Recognize(text, zone); ok {
		if kind == KindRRule && strings.HasPrefix(text, "BEGIN:") {
			return Fault{}, false // the kind says what it takes from the file
		}
		return recognizedForm(fault, kind, r, text, opts), true
	}
	if foreign.Hashed(text) {
		fault.Allowed = "numbers; H (a value by the hash of a name, as in Jenkins and Quartz.NET) is not supported: give the schedule a jitter instead"
		return fault, true
	}
	if proposes(all.Faults, path) {
		return Fault{}, false
	}
	valid := validKinds(kind, text, opts)
	if len(valid) != 1 {
		return Fault{}, false // a text of several kinds is not guessed (D-E3)
	}
	fault.Allowed = "a text of the kind " + string(kind) + "; this is one of the kind " + string(valid[0].kind)
	fault.Nearest = "the kind " + string(valid[0].kind)
	if valid[0].spec != text {
		fault.Nearest += ": " + valid[0].spec
	}
	return fault, true
}

// lineOf returns the line of a specification: the text itself, or its element in JSON.
func lineOf(dialect *syntax.Dialect, text string) string {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`) {
		return text
	}
	v, err := syntax.ReadValue([]byte(text))
	if err != nil {
		return text
	}
	if v.Kind == '{' {
		if v = (syntax.Reader{Object: v, Faults: &syntax.Faults{}}).Take(dialect.Line); v == nil {
			return text
		}
	}
	if v.Kind != '"' {
		return text
	}
	return strings.TrimSpace(v.Text)
}

// concerns reports whether any fault is one of the text itself, and not of an element beside it.
func concerns(faults []Fault, path string) bool {
	for _, f := range faults {
		if f.Path == "" || path != "" && (f.Path == path || strings.HasPrefix(f.Path, path+".")) {
			return true
		}
	}
	return false
}

// proposes reports whether any fault is one of a part of the text, or proposes another text of the
// same kind.
func proposes(faults []Fault, path string) bool {
	other := slices.ContainsFunc(faults, func(f Fault) bool { return f.Path == path && f.Value == "null" }) // JSON of another kind
	for _, f := range faults {
		if f.Path != path && f.Path != "" && !other || f.Nearest != "" && !strings.HasPrefix(f.Nearest, "the kind ") {
			return true
		}
	}
	return false
}

// recognizedForm completes the fault of a text of a form, a document or a crontab.
func recognizedForm(fault Fault, kind Kind, r foreign.Recognized, text string, opts Options) Fault {
	fault.Allowed = "a text of the kind " + string(kind) + ", not " + r.What
	propose := func(t kindText) {
		fault.Nearest = t.spec
		if t.kind != kind {
			fault.Nearest = "the kind " + string(t.kind) + ": " + t.spec
		} else if !strings.HasPrefix(t.spec, "{") {
			fault.Nearest = syntax.Quote(t.spec)
		}
	}
	switch {
	case r.Form != nil:
		t, err := Translate(Form(r.Form.Name), text, TranslateOptions{Zone: opts.Zone})
		var all *Error
		switch {
		case err == nil:
			fault.Allowed += " (jobagent schedule preview --kind " + r.Form.Name + " translates it)"
			propose(kindText{t.Kind, t.Spec})
		case errors.As(err, &all):
			fault.Allowed += ", which has this fault: " + all.Faults[0].String()
		}
	case r.Line != "":
		if r.Command != "" {
			fault.Allowed += "; " + r.Command + " makes jobs of a crontab"
		}
		o := opts
		o.probing = true
		if _, err := parse(KindCron5, []byte(r.Line), o); err == nil {
			propose(kindText{KindCron5, r.Line})
		}
	default:
		fault.Allowed += "; use " + r.Command
	}
	return fault
}

// formAsKind returns the fault of a kind that is the name of a form, with the translation. The
// database stores kinds only.
func formAsKind(kind Kind, text string, opts Options, fault Fault) (Fault, bool) {
	f := formOf(string(kind))
	if f == nil {
		return Fault{}, false
	}
	fault.Allowed += "; " + f.Name + " is a language that is translated to a kind"
	t, err := Translate(Form(f.Name), text, TranslateOptions{Zone: opts.Zone})
	var all *Error
	switch {
	case err == nil:
		fault.Nearest = "the kind " + string(t.Kind) + ": " + t.Spec
	case errors.As(err, &all):
		fault.Nearest = ""
		fault.Allowed += "; this text has a fault: " + all.Faults[0].String()
	}
	return fault, true
}
