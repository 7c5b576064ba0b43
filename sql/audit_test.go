package sqlfs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reads says that a procedure only reads: readers may call it.
func reads(d Description) bool { return d.CalledBy == "members of the role jobs_reader." }

// TestPublicProceduresAreAudited: each public procedure writes an entry of the audit log under its
// own name as the last statement of a transaction, or calls a writer or a public procedure that
// does. What creates or replaces (sp_set_…) leaves the entry of an addition or a change. The header
// of a procedure has the exceptions.
func TestPublicProceduresAreAudited(t *testing.T) {
	objects, err := DescribeAll()
	require.NoError(t, err)
	public := regexp.MustCompile(`\bEXECUTE jobs\.sp_\w+`)
	// Procedures of the SAP surface call it through log_rest_action.
	call := regexp.MustCompile(`EXECUTE jobs_internal\.audit\s+@action = N'([\w.]+)'|@procedure = N'([\w.]+)'`)
	texts := map[string]string{}
	for _, o := range objects {
		texts[o.Name] = o.Text
	}
	for _, o := range objects {
		if o.Kind != KindProcedure {
			continue
		}
		if m := writer.FindStringSubmatch(o.Text); m != nil {
			text := texts[m[1]]
			require.Contains(t, text, "EXECUTE jobs_internal.audit\n        @action = @action,", m[1])
			require.Contains(t, text, "BEGIN TRANSACTION", m[1])
			name := strings.TrimPrefix(o.Name, "jobs.")
			require.True(t, strings.Contains(text, "N'"+name+"'") || strings.HasPrefix(name, "sp_set_"), "%s: %s writes no entry under this name", o.File, m[1])
			continue
		}
		calls := call.FindAllStringSubmatch(o.Text, -1)
		if !strings.HasPrefix(o.Name, "jobs.sp_") && !strings.HasPrefix(o.Name, "jobs_rest.") || reads(o) {
			continue
		}
		for _, c := range calls {
			require.Equal(t, strings.TrimPrefix(o.Name, "jobs."), c[1]+c[2], "%s: @action is the name of the procedure", o.File)
		}
		if o.Audit != "" {
			require.Empty(t, calls, "%s has an entry now: remove Audit from its header", o.Name)
			continue
		}
		if len(calls) == 0 && !public.MatchString(o.Text) {
			t.Errorf("%s changes something without an entry in the audit log: call jobs_internal.audit, or say in its header under Audit why not", o.Name)
		}
		require.False(t, len(calls) > 0 && !strings.Contains(o.Text, "BEGIN TRANSACTION"), "%s: the entry is part of the transaction", o.Name)
	}
}

// TestCallersAreNamed: procedures record the caller, whom a REST front names, and not the login of
// the front.
func TestCallersAreNamed(t *testing.T) {
	objects, err := Objects()
	require.NoError(t, err)
	for _, o := range objects {
		if o.Kind.IsCode() && o.Name != "jobs_internal.current_caller" {
			require.NotContains(t, o.Text, "ORIGINAL_LOGIN", "%s: read short_name of jobs_internal.current_caller", o.File)
		}
	}
}
