package archtest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// workflow is what this test reads of a workflow of GitHub Actions.
type workflow struct {
	On          any               `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		Permissions map[string]string `yaml:"permissions"`
		Timeout     int               `yaml:"timeout-minutes"`
		Steps       []struct {
			Uses string         `yaml:"uses"`
			With map[string]any `yaml:"with"`
			Run  string         `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

var (
	// pinned matches an action at a commit; the line names the version for people.
	pinned = regexp.MustCompile(`uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	// unlocked matches commands that fetch something without checksum, lock file or signature.
	unlocked = regexp.MustCompile(`\b(curl|wget|npx|pipx?|go install)\s|npm (install|i|add|exec)\b|go run \S+@|@latest|--allow-unauthenticated|--insecure\b|allow-untrusted`)
)

// texts returns the files of a pattern below the root of the repository.
func texts(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(pattern)))
	require.NoError(t, err)
	found := map[string]string{}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		found[filepath.Base(name)] = string(text)
	}
	require.NotEmpty(t, found, pattern)
	return found
}

// Workflows run with a token that may only read, and keep it from programs of others; actions are
// pinned by commit. A job whose token may write runs no code of the repository.
func TestWorkflowsAreConfined(t *testing.T) {
	t.Parallel()
	for name, text := range texts(t, ".github/workflows/*") {
		var w workflow
		require.NoError(t, yaml.Unmarshal([]byte(text), &w), name)
		require.Equal(t, map[string]string{"contents": "read"}, w.Permissions, "%s: want read-only permissions for all jobs", name)
		for _, trigger := range []string{"pull_request_target", "workflow_run", "issue_comment"} {
			require.NotContains(t, text, trigger, "%s: strangers start it with the repository's rights", name)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); strings.Contains(line, "uses:") {
				require.Regexp(t, pinned, line, "%s: want an action at a commit, and its version in a comment", name)
			}
		}
		for title, job := range w.Jobs {
			at := name + ": " + title
			require.Positive(t, job.Timeout, at)
			writes := slices.ContainsFunc(slices.Collect(maps.Values(job.Permissions)), func(p string) bool { return p != "read" && p != "none" })
			for _, step := range job.Steps {
				require.NotContains(t, step.Run, "${{", "%s: an expression in a script is code; pass it by env", at)
				if strings.HasPrefix(step.Uses, "actions/checkout@") {
					require.Equal(t, false, step.With["persist-credentials"], "%s: the token would stay on disk", at)
					require.False(t, writes, "%s: want no code of the repository beside a token that may write", at)
				}
				require.False(t, writes && step.Run != "" && !strings.HasPrefix(step.Run, "gh "), "%s: want nothing but gh beside a token that may write", at)
			}
		}
	}
}

// Scripts and workflows fetch nothing that is not verified: Go by its checksum database, npm by the
// lock file, Debian by its signatures, images by digest.
func TestNothingIsFetchedUnverified(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{".ci/*", ".github/workflows/*", "testenv/sqlserver/*.sh"} {
		for name, text := range texts(t, pattern) {
			for line := range strings.Lines(text) {
				if strings.HasPrefix(strings.TrimSpace(line), "#") {
					continue
				}
				require.NotRegexp(t, unlocked, line, name)
			}
		}
	}
	base := regexp.MustCompile(`^FROM \S+@sha256:[0-9a-f]{64}( AS \w+)?$`)
	for name, text := range texts(t, "cmd/jobagent/deploy/Containerfile") {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "FROM") {
				require.Regexp(t, base, strings.TrimSpace(line), name)
			}
		}
	}
}

// The lock file of npm has a checksum for each package, and the packages that are asked for have
// exact versions.
func TestNPMIsLocked(t *testing.T) {
	t.Parallel()
	files := texts(t, ".ci/npm-packages/*.json")
	var lock struct {
		Packages map[string]struct {
			Version      string            `json:"version"`
			Integrity    string            `json:"integrity"`
			Link         bool              `json:"link"`
			Dependencies map[string]string `json:"dependencies"`
		} `json:"packages"`
	}
	require.NoError(t, json.Unmarshal([]byte(files["package-lock.json"]), &lock))
	var asked struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	require.NoError(t, json.Unmarshal([]byte(files["package.json"]), &asked))
	require.NotEmpty(t, asked.Dependencies)
	require.Equal(t, asked.Dependencies, lock.Packages[""].Dependencies)
	for name, version := range asked.Dependencies {
		if rest, ok := strings.CutPrefix(version, "npm:"); ok { // another name for a package: npm:NAME@VERSION
			version = rest[strings.LastIndex(rest, "@")+1:]
		}
		require.Equal(t, version, lock.Packages["node_modules/"+name].Version, name)
	}
	for path, p := range lock.Packages {
		require.True(t, path == "" || !p.Link && strings.HasPrefix(p.Integrity, "sha512-"), "%q has no checksum", path)
	}
}

// TestLongTestsRunInCI: what a default run leaves out (testenv.Long) must run somewhere.
func TestLongTestsRunInCI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), ".ci", "long"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^JOBAGENT_TEST_LONG=1 go test .* \./\.\.\.$`, string(text))
	workflow, err := os.ReadFile(filepath.Join(root(t), ".github", "workflows", "ci.yml"))
	require.NoError(t, err)
	require.Contains(t, string(workflow), "- run: bash .ci/long\n")
}
