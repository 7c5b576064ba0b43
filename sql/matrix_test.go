package sqlfs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// matrixFile lists the permissions of the roles: see [roleMatrix]. testenv/script tries it with
// logins.
const matrixFile = "testdata/role_matrix.txt"

// matrixRoles are the columns of the matrix. The last one is a user without a role.
var matrixRoles = []string{"jobs_reader", "jobs_operator", "jobs_author", "jobs_admin", "jobs_agent", "jobs_front", ""}

// tableVerbs are the permissions on a table or view that are in the matrix.
var tableVerbs = []string{"SELECT", "INSERT", "UPDATE", "DELETE"}

// The statements of sql/roles, each on one line. Other forms are rejected, because the matrix would
// miss them.
var (
	grantObject = regexp.MustCompile(`^GRANT ([A-Z]+) ON OBJECT::(\S+) TO (\w+);$`)
	grantSchema = regexp.MustCompile(`^GRANT ([A-Z]+) ON SCHEMA::(\w+) TO (\w+);$`)
	roleMember  = regexp.MustCompile(`^ALTER ROLE (\w+) ADD MEMBER (\w+);$`)
	roleMade    = regexp.MustCompile(
		`^(IF DATABASE_PRINCIPAL_ID\(N'\w+'\) IS NULL|    CREATE ROLE \w+ AUTHORIZATION dbo;)$`,
	)
	impersonate = regexp.MustCompile(`^GRANT IMPERSONATE ON USER::jobagent_(reader|operator|author|admin) TO jobs_front;$`)
)

// promised reads from sql/roles which roles have a permission: "EXECUTE jobs.sp_start_job", "SELECT
// jobs.jobs" and so on.
func promised(t *testing.T) (objects []Object, rights map[string]map[string]bool) {
	t.Helper()
	all, err := Objects()
	require.NoError(t, err)
	rights = map[string]map[string]bool{}
	give := func(right, role string) {
		if rights[right] == nil {
			rights[right] = map[string]bool{}
		}
		rights[right][role] = true
	}
	members := map[string][]string{} // of a role
	for _, o := range all {
		if o.Kind != KindRole {
			if o.Kind != KindSchema && o.Kind != KindUser {
				objects = append(objects, o)
			}
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
				t.Errorf("roles/%s.sql: a statement that the matrix does not know: %s", o.Name, line)
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
	return objects, rights
}

// roleMatrix returns a line for each permission on each object, with an x for each role that has
// it.
func roleMatrix(t *testing.T) string {
	t.Helper()
	objects, rights := promised(t)
	slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name) })
	var b strings.Builder
	b.WriteString("# Permissions of the roles: reader R, operator O, author A, admin D, agent G, front F, no role n. Generated from sql/roles by go test ./sql -run TestRoleMatrix -update;\n" +
		"# TestRoleMatrix of testenv/script tries it with logins.\n")
	fmt.Fprintf(&b, "%-60s R O A D G F n\n", "#")
	for _, o := range objects {
		verbs := tableVerbs
		if o.Kind == KindProcedure {
			verbs = []string{"EXECUTE"}
		}
		for _, verb := range verbs {
			right := verb + " " + o.Name
			fmt.Fprintf(&b, "%-60s", right)
			for _, role := range matrixRoles {
				mark := " ."
				if rights[right][role] {
					mark = " x"
				}
				b.WriteString(mark)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestRoleMatrix: a change of permissions is a change of the file, which is reviewed.
func TestRoleMatrix(t *testing.T) {
	matrix := roleMatrix(t)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o700))
		require.NoError(t, os.WriteFile(matrixFile, []byte(matrix), 0o600))
	}
	kept, err := os.ReadFile(matrixFile)
	require.NoError(t, err)
	require.Equal(t, string(kept), matrix, "run: go test ./sql -run TestRoleMatrix -update")
}

// TestCalledByMatchesPermissions: the header of a procedure names the role with the fewest
// permissions that may call it, or the agent's file that does. No role may call a procedure that
// only other procedures call, and no role may write to a table or view.
func TestCalledByMatchesPermissions(t *testing.T) {
	_, rights := promised(t)
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
