package sqlfs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPublicProceduresCheckTheJobAgent: each public procedure that changes definitions or starts
// something calls jobs_internal.check_job_agent, itself or through a procedure that it calls. Its
// header has the exceptions.
func TestPublicProceduresCheckTheJobAgent(t *testing.T) {
	objects, err := DescribeAll()
	require.NoError(t, err)
	texts := map[string]string{}
	for _, o := range objects {
		texts[o.Name] = code(o.Object)
	}
	calls := regexp.MustCompile(`EXECUTE (?:@\w+ = )?(jobs(?:_internal)?\.\w+)`)
	var reaches func(name string, seen map[string]bool) bool
	reaches = func(name string, seen map[string]bool) bool {
		if name == "jobs_internal.check_job_agent" {
			return true
		}
		if seen[name] {
			return false
		}
		seen[name] = true
		for _, m := range calls.FindAllStringSubmatch(texts[name], -1) {
			if reaches(m[1], seen) {
				return true
			}
		}
		return false
	}
	for _, o := range objects {
		if o.Kind != KindProcedure || !strings.HasPrefix(o.Name, "jobs.sp_") {
			continue
		}
		if checks := reaches(o.Name, map[string]bool{}); o.JobAgent != "" {
			require.False(t, checks, "%s calls jobs_internal.check_job_agent now: remove Job agent from its header", o.Name)
		} else if !checks && !reads(o) {
			t.Errorf("%s: call jobs_internal.check_job_agent first in the transaction, or say in its header under Job agent why not", o.Name)
		}
	}
}
