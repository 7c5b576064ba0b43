package sqlfs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// matrixRoles are the roles. The last one is a user without a role.
var matrixRoles = []string{"jobs_reader", "jobs_operator", "jobs_author", "jobs_admin", "jobs_agent", "jobs_front", ""}

// The statements of roles, each on one line. Other forms are rejected, because the tests would miss
// them.
var (
	grantObject = regexp.MustCompile(`^GRANT ([A-Z]+) ON OBJECT::(\S+) TO (\w+);$`)
	grantSchema = regexp.MustCompile(`^GRANT ([A-Z]+) ON SCHEMA::(\w+) TO (\w+);$`)
	roleMember  = regexp.MustCompile(`^ALTER ROLE (\w+) ADD MEMBER (\w+);$`)
	roleMade    = regexp.MustCompile(
		`^(IF DATABASE_PRINCIPAL_ID\(N'\w+'\) IS NULL|    CREATE ROLE \w+ AUTHORIZATION dbo;)$`,
	)
	impersonate = regexp.MustCompile(`^GRANT IMPERSONATE ON USER::jobagent_(reader|operator|author|admin) TO jobs_front;$`)
)

// promised reads from the texts of roles which of them have a permission: "EXECUTE
// jobs.sp_start_job", "SELECT jobs.jobs" and so on.
func promised(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all, err := Objects()
	require.NoError(t, err)
	rights := map[string]map[string]bool{}
	give := func(right, role string) {
		if rights[right] == nil {
			rights[right] = map[string]bool{}
		}
		rights[right][role] = true
	}
	members := map[string][]string{} // of a role
	for _, o := range all {
		if o.Kind != KindRole {
			continue
		}
		for line := range strings.Lines(o.Text) {
			line = strings.TrimRight(line, "\r\n")
			switch {
			case line == "" || strings.HasPrefix(line, "--"), roleMade.MatchString(line):
			case impersonate.MatchString(line): // no right on an object; TestCallersRunAsTheirRole of controldb tries it
			case roleMember.MatchString(line):
				m := roleMember.FindStringSubmatch(line)
				members[m[1]] = append(members[m[1]], m[2])
			case grantObject.MatchString(line):
				m := grantObject.FindStringSubmatch(line)
				require.True(t, slices.ContainsFunc(all, func(o Object) bool { return o.Name == m[2] }), "%s: no such object", line)
				give(m[1]+" "+m[2], m[3])
			case grantSchema.MatchString(line):
				m := grantSchema.FindStringSubmatch(line)
				for _, x := range all {
					procedure := x.Kind == KindProcedure
					if strings.HasPrefix(x.Name, m[2]+".") && x.Kind != KindRole && procedure == (m[1] == "EXECUTE") {
						give(m[1]+" "+x.Name, m[3])
					}
				}
			default:
				t.Errorf("roles/%s.sql: an unknown statement: %s", o.Name, line)
			}
		}
	}
	// Members have the permissions of their roles. The chains are short and have no cycles.
	for range matrixRoles {
		for role, list := range members {
			for _, by := range rights {
				for _, m := range list {
					by[m] = by[m] || by[role]
				}
			}
		}
	}
	return rights
}

// TestCalledByMatchesPermissions: the header of a procedure names the role with the fewest
// permissions that may call it, or the agent's file that does. No role may call a procedure that
// only other procedures call, and no role may write to a table or view.
func TestCalledByMatchesPermissions(t *testing.T) {
	rights := promised(t)
	// Each has the permissions of those before it.
	people := matrixRoles[:4]
	descriptions, err := DescribeAll()
	require.NoError(t, err)
	role := regexp.MustCompile(`^members of the role (\w+)\.$`)
	for _, d := range descriptions {
		if d.Kind != KindProcedure {
			continue
		}
		want := map[string]bool{}
		if m := role.FindStringSubmatch(d.CalledBy); m != nil {
			from := slices.Index(people, m[1])
			require.GreaterOrEqual(t, from, 0, "%s: Called by: %s", d.Name, d.CalledBy)
			for _, r := range people[from:] {
				want[r] = true
			}
		}
		if strings.HasPrefix(d.CalledBy, "agent/") {
			want["jobs_agent"] = true
			want["jobs_front"] = strings.HasSuffix(d.CalledBy, ", in agents and fronts.")
		}
		for _, r := range matrixRoles {
			require.Equal(t, want[r], rights["EXECUTE "+d.Name][r], "%s and the role %q; Called by: %s", d.Name, r, d.CalledBy)
		}
	}
	for right, by := range rights {
		verb, _, _ := strings.Cut(right, " ")
		require.Contains(t, []string{"EXECUTE", "SELECT"}, verb, "%v may %s", by, right)
	}
}
