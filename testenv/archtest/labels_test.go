package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// label matches a rule of the project that has a name: an invariant (I1), a decision about the
	// REST fronts, about SAP's front (S-1), or about schedules (D-A1).
	label = regexp.MustCompile(`\b(?:I(?:1[0-9]|[1-9])|[RS]-[0-9]+|D-[EASZP][0-9]+)\b`)
	// operation matches an operation of SAP's API. Elsewhere, such texts have other meanings.
	operation = regexp.MustCompile(`\bE[1-9][0-9]?\b`)
	// decisions matches numbers of the decisions about Azure Elastic Jobs, decision one of them.
	decisions = regexp.MustCompile(`\b[Dd]ecisions? [0-9]+(?:(?:, | and | to )[0-9]+)*`)
	decision  = regexp.MustCompile(`[0-9]+`)
	// definition matches a row of a table of labels.
	definition = regexp.MustCompile(`^\| (I[0-9]+|[RS]-[0-9]+|D-[EASZP][0-9]+|decision [0-9]+|E[0-9]+) \| `)
	// elsewhere matches what is not in the repository.
	elsewhere = regexp.MustCompile(`\.\./shared|\b(?:rest-arm|rest-sap-actions|elastic-jobs|schedules)\.md\b`)
)

// cited returns the labels in a line.
func cited(line string) []string {
	labels := label.FindAllString(line, -1)
	for _, several := range decisions.FindAllString(line, -1) {
		for _, n := range decision.FindAllString(several, -1) {
			labels = append(labels, "decision "+n)
		}
	}
	return labels
}

// Each label that code, T-SQL, tests and documents cite is defined once, in the DESIGN.md of a
// folder. So the repository needs no document outside of it.
func TestLabelsAreDefined(t *testing.T) {
	defined := map[string]string{} // the file of a label
	places := map[string]string{}  // one place where a label is cited
	require.NoError(t, filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root(t), path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".sql", ".md", ".txt"}, filepath.Ext(name)) || strings.HasPrefix(name, ".ci"+string(filepath.Separator)) ||
			strings.HasSuffix(name, "labels_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(string(text), "\n") {
			if m := definition.FindStringSubmatch(line); m != nil && d.Name() == "DESIGN.md" {
				if other, ok := defined[m[1]]; ok {
					t.Errorf("%s:%d: %s is already defined in %s", name, n+1, m[1], other)
				}
				defined[m[1]] = name
				line = strings.TrimPrefix(line, "| "+m[1])
			}
			for _, l := range cited(line) {
				places[l] = name
			}
			if filepath.Base(filepath.Dir(name)) == "sap" && filepath.Ext(name) != ".txt" {
				for _, l := range operation.FindAllString(line, -1) {
					places[l] = name
				}
			}
			if found := elsewhere.FindString(line); found != "" {
				t.Errorf("%s:%d: %s is not in the repository", name, n+1, found)
			}
		}
		return nil
	}))
	require.Greater(t, len(places), 150, "the labels are found")
	for l, place := range places {
		if defined[l] == "" {
			t.Errorf("%s cites %s, which no DESIGN.md defines", place, l)
		}
	}
}
