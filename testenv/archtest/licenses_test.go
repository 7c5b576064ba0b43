package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// go test ./testenv/archtest -run TestThirdPartyNotices -licenses.write generates
// the file.
var writeLicenses = flag.Bool("licenses.write", false,
	"TestThirdPartyNotices writes THIRD_PARTY_NOTICES in place of comparing it")

// licensedSystems are the operating systems of releases. The linked packages differ between them.
var licensedSystems = []string{"linux", "darwin", "windows"}

// licenceFile matches the names of files with a licence or a notice.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// permissive matches the texts of licences that require only their text in binary distributions.
var permissive = regexp.MustCompile(`Redistribution and use in source and binary forms|Permission is hereby granted, free of charge|Apache License\s+Version 2\.0`)

// fileCopyleft are modules under the Mozilla Public License 2.0, which asks for the source of the
// module's own files and for nothing else. Each is here by name, with what needs it; the value says
// where its source is, as section 3.2 of the licence wants.
var fileCopyleft = map[string]string{
	// gokrb5 needs it, and the driver's Kerberos needs gokrb5.
	"github.com/hashicorp/go-uuid": "https://github.com/hashicorp/go-uuid",
}

// The embedded notices are exactly those of the linked modules. All licences are permissive, except
// those of fileCopyleft.
func TestThirdPartyNotices(t *testing.T) {
	t.Parallel()
	modules := map[string]string{} // directories by path@version
	for _, system := range licensedSystems {
		for _, m := range linkedModules(t, system) {
			modules[m.Path+" "+m.Version] = m.Dir
		}
	}
	names := make([]string, 0, len(modules))
	for name := range modules {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	b.WriteString("jobagent contains the Go runtime and library and the modules below. Their licences follow.\n")
	for _, name := range names {
		if strings.HasPrefix(name, "golang.org/x/sys ") { // its licence is Go's own, which distributions omit from GOROOT
			appendLicences(t, &b, "The Go runtime and standard library", modules[name])
		}
	}
	for _, name := range names {
		appendLicences(t, &b, name, modules[name])
	}
	file := filepath.Join(root(t), "cmd", "jobagent", "internal", "cli", "about", "THIRD_PARTY_NOTICES")
	if *writeLicenses {
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
		return
	}
	embedded, err := os.ReadFile(file)
	require.NoError(t, err)
	if b.String() != string(embedded) {
		t.Error("THIRD_PARTY_NOTICES is out of date: run go test ./testenv/archtest -run TestThirdPartyNotices -licenses.write")
	}
}

// linkedModule is a module in the output of go list.
type linkedModule struct{ Path, Version, Dir string }

// linkedModules returns the modules whose packages the program contains on an operating system,
// except the main module.
func linkedModules(t *testing.T, system string) []linkedModule {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module",
		"github.com/jobagent/jobagent/cmd/jobagent")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var list []linkedModule
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct {
				linkedModule
				Main bool
			}
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		if p.Module != nil && !p.Module.Main {
			list = append(list, p.Module.linkedModule)
		}
	}
}

// appendLicences writes the licence files of a module. At least one must be permissive.
func appendLicences(t *testing.T, b *bytes.Buffer, name, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err, name)
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		found = found || permissive.Match(text)
		fmt.Fprintf(b, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, e.Name(),
			strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	path, _, _ := strings.Cut(name, " ")
	if source := fileCopyleft[path]; source != "" {
		fmt.Fprintf(b, "\nIts source code is available at %s.\n", source)
		found = true
	}
	if !found {
		t.Errorf("%s: no permissive licence in %s", name, dir)
	}
}
