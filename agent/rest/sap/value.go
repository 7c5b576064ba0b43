package sap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/wording"
)

// value is a JSON value of a body. Its text is the original, so that data reach their application
// as they were sent (S-9).
type value = jsontree.Value

// maxDepth bounds the nesting of a body.
const maxDepth = 100

// maxPath is the length of a value's path in faults, in characters.
const maxPath = 300

// place names a value in faults, as in schedules[0].cron.
func place(v *value) string { return wording.Clip(v.Path(), maxPath, wording.Characters) }

// readValue parses a body. It returns all faults of its form: text that is not JSON, or names that
// occur twice in an object.
func readValue(body []byte) (*value, []fault) {
	if !utf8.Valid(body) {
		return nil, []fault{{text: "Request body is not text in UTF-8"}}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, []fault{{text: "Request body is missing"}}
	}
	v, err := jsontree.Parse(string(body))
	if err != nil {
		text := "Request body is not valid JSON"
		if e, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // Parse returns it without wrapping
			text += fmt.Sprintf(": %v at byte %d", e, e.Offset)
		}
		return nil, []fault{{text: text}}
	}
	if err := (bounded.JSON{Depth: maxDepth}).CheckBytes(body); err != nil {
		return nil, []fault{{text: fmt.Sprintf("Request body is nested deeper than %d levels", maxDepth)}}
	}
	var faults []fault
	for m := range v.Twice() {
		faults = append(faults, fault{text: "'" + place(m) + "' is specified more than once"})
	}
	return v, faults
}

// readObject parses a body that must be an object.
func readObject(body []byte) (*value, []fault) {
	v, faults := readValue(body)
	if v != nil && v.Kind != '{' {
		return nil, []fault{{text: "Request body must be a JSON object"}}
	}
	return v, faults
}
