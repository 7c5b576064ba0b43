package sap

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariableInActionURL: what the control database refuses in a job is the client's error.
func TestVariableInActionURL(t *testing.T) {
	a := as(t, provider)
	job := object{"name": "variable", "action": "https://h.example/$(secret.x)", "active": true, "schedules": []object{{"time": "now", "active": false}}}
	message := a.failure(400, "POST", "/jobs", job)
	require.Contains(t, message, creatingJob)
	require.Contains(t, message, "no $(")
	job["action"] = "https://h.example/x"
	for _, name := range []string{"..", "a.", "a/../b", "a\u202eb"} {
		job["name"] = name
		require.Contains(t, a.failure(400, "POST", "/jobs", job), creatingJob, "%q", name)
	}
}
