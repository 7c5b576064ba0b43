package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// TestAnswerOfAWriteIsItsOwn: PUT and PATCH answer with what they have written and the ETag of
// that, though another writer changes the object before the front goes on.
func TestAnswerOfAWriteIsItsOwn(t *testing.T) {
	f := front.Shared(t)
	c := collection(t, f, "between", nil)
	job := c + "/jobs/j"
	put(t, f, job, httpJob(f, "/first"))
	state := func(value string) object { return object{"properties": object{"state": value}} }
	free := object{"name": "between", "location": "onprem", "properties": object{"sku": object{"name": "Free"}}}
	standard := object{"name": "between", "location": "onprem", "properties": object{"sku": object{"name": "Standard"}}}
	for _, test := range []struct {
		procedure, method, path string
		own, other              object
		property                string
		written                 any
	}{
		{"jobs.sp_set_scheduler_job", "PUT", job, httpJob(f, "/own"), httpJob(f, "/other"), "properties.action.request.uri", f.H.URL + "/own"},
		{"jobs.sp_enable_scheduler_job", "PATCH", job, state("Disabled"), state("Enabled"), "properties.state", "disabled"},
		{"jobs.sp_set_job_collection", "PUT", c, free, standard, "properties.sku.name", "Free"},
		{"jobs.sp_enable_job_collection", "PATCH", c, state("Disabled"), state("Enabled"), "properties.state", "Disabled"},
	} {
		write := func(body object) front.Answer {
			a := f.Do(t, test.method, test.path+version, body)
			require.Equal(t, 200, a.Status, a.Body)
			return a
		}
		var answer, later front.Answer
		f.Between(t, test.procedure, func() { later = write(test.other) }, func() { answer = write(test.own) })
		require.Equal(t, test.written, answer.At(t, test.property), test.procedure)
		require.NotEqual(t, test.written, later.At(t, test.property), test.procedure)
		require.NotEqual(t, later.Header.Get("ETag"), answer.Header.Get("ETag"), test.procedure)
	}
}
