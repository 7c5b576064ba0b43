package main

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
)

// repository is where the source and the releases are.
const repository = "github.com/jobagent/jobagent"

//go:embed templates
var templates embed.FS

// manifests are the files that tell package managers where the archives are.
var manifests = []string{
	"jobagent.rb",                         // Homebrew, a formula of a tap
	"jobagent.json",                       // Scoop, a manifest of a bucket
	"jobagent.jobagent.yaml",              // WinGet: the version,
	"jobagent.jobagent.installer.yaml",    // the archives,
	"jobagent.jobagent.locale.en-US.yaml", // and the description
}

// describe writes what refers to the files of the release: manifests of package managers, the sums,
// and the provenance.
func (r *release) describe() error {
	sums, err := sumsOf(r.out)
	if err != nil {
		return err
	}
	for _, name := range manifests {
		if err := r.manifest(name, sums); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if sums, err = sumsOf(r.out); err != nil {
		return err
	}
	var text strings.Builder
	names := slices.Sorted(maps.Keys(sums))
	for _, name := range names {
		fmt.Fprintf(&text, "%s  %s\n", sums[name], name)
	}
	if err := os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	return r.provenance(names, sums)
}

// manifest writes a manifest, unless the release lacks one of its archives.
func (r *release) manifest(name string, sums map[string]string) error {
	missing := ""
	functions := template.FuncMap{
		"url": func(system, arch string) string {
			return fmt.Sprintf("https://%s/releases/download/v%s/%s", repository, r.source.Version, archiveName(system, arch))
		},
		"sum": func(system, arch string) string {
			sum, ok := sums[archiveName(system, arch)]
			if !ok {
				missing = cmp.Or(missing, archiveName(system, arch))
			}
			return sum
		},
		"folder": folderName,
		"upper":  strings.ToUpper,
	}
	t, err := template.New(name).Funcs(functions).ParseFS(templates, "templates/"+name)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := t.Execute(&text, r.source); err != nil || missing != "" {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), []byte(text.String()), 0o644)
}

// sumsOf returns the SHA-256 sums of the files of a folder by name.
func sumsOf(folder string) (map[string]string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, f := range files {
		file, err := os.Open(filepath.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, file)
		_ = file.Close() // only read
		if err != nil {
			return nil, err
		}
		sums[f.Name()] = hex.EncodeToString(hash.Sum(nil))
	}
	return sums, nil
}

// statement is a statement about files (https://in-toto.io/Statement/v1).
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     struct {
		BuildDefinition struct {
			BuildType            string            `json:"buildType"`
			ExternalParameters   map[string]string `json:"externalParameters"`
			InternalParameters   map[string]string `json:"internalParameters"`
			ResolvedDependencies []dependency      `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		RunDetails struct {
			Builder struct {
				ID string `json:"id"`
			} `json:"builder"`
		} `json:"runDetails"`
	} `json:"predicate"`
}

// subject is a file of the release.
type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// dependency is what the files were built from.
type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

// provenance writes from what the files were built, and how
// (https://slsa.dev/spec/v1.0/provenance). The statement is not signed: the workflow signs one of
// its own (.github/workflows/release.yml).
func (r *release) provenance(names []string, sums map[string]string) error {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range names {
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": sums[name]}})
	}
	build := &s.Predicate.BuildDefinition
	build.BuildType = "https://" + repository + "/blob/main/cmd/jobagent/release/RELEASE.md"
	build.ExternalParameters = map[string]string{"platforms": strings.Join(r.platforms, ",")}
	build.InternalParameters = map[string]string{"go": runtime.Version()}
	build.ResolvedDependencies = []dependency{{URI: "git+https://" + repository, Digest: map[string]string{"gitCommit": r.source.Commit}}}
	s.Predicate.RunDetails.Builder.ID = build.BuildType
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "provenance.intoto.json"), append(text, '\n'), 0o644)
}
