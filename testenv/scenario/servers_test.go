package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
)

// envFleet lists real servers for the scenarios: "jobserver=DSN server1=DSN server2=DSN london=DSN
// newyork=DSN". Use test servers only: the databases and logins of the scenarios are dropped there
// and created again.
const envFleet = "JOBAGENT_TEST_FLEET"

// maxRealWait is how long a scenario may wait in real time. Longer ones run in virtual time only.
const maxRealWait = 4 * time.Minute

// virtualYear begins dates that are valid only in a synctest bubble, whose clock starts in 2000.
const virtualYear = "2000-01-"

// madeByScenarios lists the databases that scripts create themselves.
var madeByScenarios = []string{"db3", "SSISDB"}

// TestScenariosOnServers runs the scenarios on real servers in real time. With -rewrite-verified,
// it marks the scripts that pass.
func TestScenariosOnServers(t *testing.T) {
	dsns := map[string]string{}
	for field := range strings.FieldsSeq(os.Getenv(envFleet)) {
		name, dsn, _ := strings.Cut(field, "=")
		dsns[name] = dsn
	}
	if len(dsns) == 0 {
		t.Skip(envFleet + " names no real servers; TestScenarios runs the same scripts on embedded ones")
	}
	for name := range serverDatabases {
		require.NotEmpty(t, dsns[name], "%s lacks the server %s", envFleet, name)
	}
	paths, err := filepath.Glob("testdata/S*.txt")
	require.NoError(t, err)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			if wait := waits(t, string(text)); wait > maxRealWait {
				t.Skipf("waits %s: runs in virtual time only", wait)
			}
			if strings.Contains(string(text), virtualYear) {
				t.Skip("contains dates of virtual time")
			}
			newFleet(t, func(name string) *testenv.Env {
				env := testenv.At(t, dsns[name])
				dropDatabases(t, env, slices.Concat(serverDatabases[name], madeByScenarios, []string{controlDatabase}))
				return env
			}).play(t, path)
		})
	}
}

// delay matches a WAITFOR of the script itself. In the commands of steps, the quotes are doubled.
var delay = regexp.MustCompile(`WAITFOR DELAY '(\d+):(\d+):(\d+)'[^']`)

// waits returns how long a script waits.
func waits(t *testing.T, text string) (sum time.Duration) {
	t.Helper()
	for _, m := range delay.FindAllStringSubmatch(text, -1) {
		d, err := time.ParseDuration(fmt.Sprintf("%sh%sm%ss", m[1], m[2], m[3]))
		require.NoError(t, err)
		sum += d
	}
	return sum
}

// dropDatabases drops the databases and logins of an earlier scenario on a server.
func dropDatabases(t *testing.T, env *testenv.Env, databases []string) {
	t.Helper()
	master := env.DB(t, "master")
	exec := func(format string, args ...any) {
		_, err := master.ExecContext(t.Context(), fmt.Sprintf(format, args...))
		require.NoError(t, err)
	}
	for _, name := range databases {
		exec("IF DB_ID(N'%[1]s') IS NOT NULL BEGIN ALTER DATABASE [%[1]s] SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE [%[1]s]; END;", name)
	}
	for _, login := range []string{jobLogin, refreshLogin} {
		exec("IF USER_ID(N'%[1]s') IS NOT NULL DROP USER [%[1]s]; IF SUSER_ID(N'%[1]s') IS NOT NULL DROP LOGIN [%[1]s];", login)
	}
}

// waits adds up the delays of the script, not those in the commands of steps.
func TestWaits(t *testing.T) {
	require.Equal(t, 61*time.Second, waits(t, "WAITFOR DELAY '00:00:01';\nEXEC x @command = N'WAITFOR DELAY ''10:00:00'';';\nWAITFOR DELAY '00:01:00';"))
}
