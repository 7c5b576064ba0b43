package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// Files have kinds only, because export writes what is stored: a translation at apply would make
// the file and the export differ. A field that is named as a form is refused, with the field to
// write in its place.

// isForm reports whether a name is that of a form of schedules.
func isForm(name string) bool { return slices.Contains(schedule.Forms(), schedule.Form(name)) }

// untranslated returns the fault of a field that is named as a form. zone is the field zone beside
// it; nil if there is none.
func untranslated(form string, value, zone *node) string {
	refused := fmt.Sprintf("%s is a language that is translated, and files have the translation", form)
	o := schedule.TranslateOptions{}
	if zone != nil {
		o.Zone = zone.text
	}
	t, err := schedule.Translate(schedule.Form(form), value.text, o)
	if err != nil {
		return fmt.Sprintf("%s; this text has none: %v", refused, err)
	}
	spec := t.Spec
	if !strings.HasPrefix(spec, "{") {
		if quoted, err := json.Marshal(spec); err == nil {
			spec = string(quoted)
		}
	}
	return fmt.Sprintf("%s: write %s: %s", refused, strings.ReplaceAll(string(t.Kind), "-", "_"), spec)
}
