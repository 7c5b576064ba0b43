package sqlfs

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed install.txt schema users views procs roles migrations
var files embed.FS

// Kind is the kind of an object.
type Kind string

// The kinds. Schemas, tables and users are state; the others are code, which can be replaced.
const (
	KindSchema    Kind = "SCHEMA"
	KindTable     Kind = "TABLE"
	KindUser      Kind = "USER"
	KindView      Kind = "VIEW"
	KindProcedure Kind = "PROCEDURE"
	KindRole      Kind = "ROLE"
	KindTrigger   Kind = "TRIGGER" // only those of [ReadOnly]
)

// IsCode reports whether objects of this kind are replaced as a whole when their text changes.
func (k Kind) IsCode() bool { return k == KindView || k == KindProcedure || k == KindRole }

// Object is one file of a fresh install.
type Object struct {
	Kind Kind
	// Name is the schema and the name, as in "jobs.sp_add_job"; schemas, users and roles have only
	// the name.
	Name string
	// File is the path within this package.
	File string
	// Text is the batch.
	Text string
	// SHA256 is the hash of Text, in hexadecimal.
	SHA256 string
}

// objects reads install.txt and its files once. A test checks that they can be read, so an error
// means a broken build.
var objects = sync.OnceValues(func() ([]Object, error) {
	list, err := files.ReadFile("install.txt")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(list)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		found, err := fs.Glob(files, line)
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("install.txt: no file %s: %w", line, cmp.Or(err, fs.ErrNotExist))
		}
		names = append(names, found...)
	}
	var all []Object
	for _, file := range names {
		text, err := files.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("install.txt: %w", err)
		}
		o := Object{
			Name:   strings.TrimSuffix(path.Base(file), ".sql"),
			File:   file,
			Text:   string(text),
			SHA256: hash(text),
		}
		switch path.Dir(file) {
		case "schema":
			o.Kind = KindTable
			if !strings.Contains(o.Name, ".") {
				o.Kind = KindSchema
			}
		case "users":
			o.Kind = KindUser
		case "views":
			o.Kind = KindView
		case "procs":
			o.Kind = KindProcedure
		case "roles":
			o.Kind = KindRole
		default:
			return nil, fmt.Errorf("install.txt: %s: unknown folder", file)
		}
		all = append(all, o)
	}
	grantExecute(all)
	return all, nil
})

// Objects returns all objects in the order of a fresh install.
func Objects() ([]Object, error) {
	all, err := objects()
	return slices.Clone(all), err
}

// Migration is a change of tables for databases that hold an older release.
type Migration struct {
	// Version counts from 1 without gaps.
	Version int
	// Name is the file's name without ".sql".
	Name string
	// Text is the batch, and SHA256 its hash in hexadecimal.
	Text, SHA256 string
}

// migrationName matches file names of the form NNNN_what_it_does.sql.
var migrationName = regexp.MustCompile(`^([0-9]{4})_[a-z0-9_]+\.sql$`)

// Migrations returns all migrations in order. The version of the last one is the schema's version;
// it is 0 if there is none.
func Migrations() ([]Migration, error) {
	entries, err := files.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, e := range entries { // ReadDir sorts by name
		m := migrationName.FindStringSubmatch(e.Name())
		if m == nil {
			if strings.HasSuffix(e.Name(), ".sql") {
				return nil, fmt.Errorf("migrations/%s: invalid name: want NNNN_name.sql", e.Name())
			}
			continue
		}
		version, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, err
		}
		if version != len(all)+1 {
			return nil, fmt.Errorf("migrations/%s: invalid number: want %04d", e.Name(), len(all)+1)
		}
		text, err := files.ReadFile("migrations/" + e.Name())
		if err != nil {
			return nil, err
		}
		all = append(
			all,
			Migration{
				Version: version,
				Name:    strings.TrimSuffix(e.Name(), ".sql"),
				Text:    string(text),
				SHA256:  hash(text),
			},
		)
	}
	return all, nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
