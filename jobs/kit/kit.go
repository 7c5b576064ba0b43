// Package kit has definitions of jobs that maintain databases, as files for jobagent apply: one
// YAML file for each definition, with its scripts beside it. KIT.md describes them.
package kit

import (
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/manifest"
)

//go:embed definitions
var embedded embed.FS

// RunsOn says what a definition needs as targets.
type RunsOn string

// What definitions run on.
const (
	// Databases: each database that is maintained.
	Databases RunsOn = "databases"
	// Servers: one database of each server; of Azure SQL Database, each database.
	Servers RunsOn = "servers"
	// Results: the database of the results.
	Results RunsOn = "results"
)

// Definition is a definition of the kit.
type Definition struct {
	// Name is the name of its file, without the extension.
	Name string
	// Summary says what it does, in a sentence.
	Summary string
	RunsOn  RunsOn
	// Results is the table that keeps its results, and what a row of it is.
	Results string
	// Rights are those that the login of targets needs.
	Rights string
	// Versions are those of SQL Server, and what differs in Azure.
	Versions string
	// Needs is what must be installed on the servers; empty for what is our own.
	Needs string
	// Jobs are the names of its jobs.
	Jobs []string
	// Files are its files, the YAML file first.
	Files []manifest.File
}

// Places are the names by which definitions are filled in.
type Places struct {
	// Databases is the target group of the definitions that run on databases, and Servers that of
	// those that run on servers.
	Databases, Servers string
	// ResultsServer and ResultsDatabase are where results are kept.
	ResultsServer, ResultsDatabase string
}

// The texts of the files in which the places are filled in, with their quotes.
const (
	databasesMark       = `"{databases}"`
	serversMark         = `"{servers}"`
	resultsServerMark   = `"results-server.invalid"` // the form of a server
	resultsDatabaseMark = `"{results database}"`
)

// scriptFile matches the name of a script in a YAML file.
var scriptFile = regexp.MustCompile(`command: \{file: ([a-z-]+\.sql)\}`)

// Definitions returns the definitions of the kit, by name.
func Definitions() ([]Definition, error) {
	all, err := fs.Sub(embedded, "definitions")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(all, "*.yaml")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []Definition
	for _, name := range names {
		d, err := read(all, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// read reads the definition of a YAML file. Its comments at the top describe it.
func read(all fs.FS, name string) (Definition, error) {
	text, err := fs.ReadFile(all, name)
	if err != nil {
		return Definition{}, err
	}
	d := Definition{Name: strings.TrimSuffix(name, ".yaml"), Files: []manifest.File{{Path: name, Text: string(text)}}}
	for line := range strings.Lines(string(text)) {
		line, comment := strings.CutPrefix(strings.TrimRight(line, "\n"), "# ")
		if !comment {
			break
		}
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "Runs on":
			d.RunsOn = RunsOn(value)
		case "Results":
			d.Results = value
		case "Rights":
			d.Rights = value
		case "Versions":
			d.Versions = value
		case "Needs":
			d.Needs = value
		default:
			d.Summary = line
		}
	}
	set, err := manifest.Load(manifest.Input{FS: all, Path: name})
	if err != nil {
		return Definition{}, err
	}
	for _, o := range set.Objects {
		if o.Kind == manifest.KindJob {
			d.Jobs = append(d.Jobs, o.Name())
		}
	}
	for _, m := range scriptFile.FindAllStringSubmatch(string(text), -1) {
		if slices.ContainsFunc(d.Files, func(f manifest.File) bool { return f.Path == m[1] }) {
			continue
		}
		script, err := fs.ReadFile(all, m[1])
		if err != nil {
			return Definition{}, err
		}
		d.Files = append(d.Files, manifest.File{Path: m[1], Text: string(script)})
	}
	return d, nil
}

// UsesResults reports whether the definition writes to the database of the results, or runs on it.
func (d Definition) UsesResults() bool { return strings.Contains(d.Files[0].Text, resultsServerMark) }

// FillIn returns the files of the definition with the names of a place in them, for an editor with
// the schema beside them.
func (d Definition) FillIn(p Places) []manifest.File {
	names := strings.NewReplacer(databasesMark, jsontree.Quote(p.Databases), serversMark, jsontree.Quote(p.Servers),
		resultsServerMark, jsontree.Quote(p.ResultsServer), resultsDatabaseMark, jsontree.Quote(p.ResultsDatabase))
	files := slices.Clone(d.Files)
	files[0].Text = "# yaml-language-server: $schema=./" + manifest.SchemaFile + "\n" + names.Replace(files[0].Text)
	return files
}
