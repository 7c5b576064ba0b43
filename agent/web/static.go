package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
)

// frameName is the name of the server's own set: the frame of all pages.
const frameName = "web"

// liveName is the name below which the script of live updates is served.
const liveName = "live"

//go:embed ui
var embedded embed.FS

// files are the templates and static files of the frame.
var files = func() fs.FS {
	sub, err := fs.Sub(embedded, "ui")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}()

// types are the types of static files. Others are not served.
var types = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".woff2": "font/woff2",
}

// static serves the static files of all sets from memory, at /ui/static/SET/FILE?v=HASH.
type static struct{ files map[string]staticFile }

// staticFile is a file with its type, and the beginning of its hash.
type staticFile struct {
	content     []byte
	kind, short string
}

// newStatic reads the static files of all sets. Modules import each other by their hashes too, so
// that a browser loads each module once, and never an old one.
func newStatic(sets []page.Set) (*static, error) {
	plain := map[string][]byte{}
	for _, one := range append([]page.Set{{Name: frameName, Files: files}, {Name: liveName, Files: live.Files}}, sets...) {
		if one.Files == nil {
			continue
		}
		err := fs.WalkDir(one.Files, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || types[path.Ext(name)] == "" {
				return err
			}
			plain[one.Name+"/"+name], err = fs.ReadFile(one.Files, name)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read static files of %s: %w", one.Name, err)
		}
	}
	s := &static{files: map[string]staticFile{}}
	for name := range plain {
		if err := s.add(name, plain, nil); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// imports finds the relative paths that a module imports, each at the beginning of a line.
var imports = regexp.MustCompile(`(?m)^((?:import|export)\b[^"'\n]*["'])(\.{1,2}/[^"'?]+\.js)(["'])`)

// add adds a file, and before it the modules that it imports. way are the modules that led to it.
func (s *static) add(name string, plain map[string][]byte, way []string) (err error) {
	if _, done := s.files[name]; done {
		return nil
	}
	content, ok := plain[name]
	if !ok || slices.Contains(way, name) {
		return fmt.Errorf("the module %s imports %s, which does not exist or imports it too", way[len(way)-1], name)
	}
	if path.Ext(name) == ".js" {
		content = imports.ReplaceAllFunc(content, func(found []byte) []byte {
			part := imports.FindSubmatch(found)
			other := path.Join(path.Dir(name), string(part[2]))
			if err == nil {
				err = s.add(other, plain, append(slices.Clone(way), name))
			}
			return slices.Concat(part[1], part[2], []byte("?v="+s.files[other].short), part[3])
		})
	}
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	s.files[name] = staticFile{content: content, kind: types[path.Ext(name)], short: hex.EncodeToString(sum[:6])}
	return nil
}

// serve answers a request for a file. A file whose hash the address has never changes.
func (s *static) serve(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := s.files[name]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "There is no file of this name.", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("ETag", `"`+f.short+`"`)
	if r.URL.Query().Get("v") == f.short {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+f.short+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(f.content) // the client may have gone
}

// url returns the path of a file, such as "runs/grid.js", below prefix.
func (s *static) url(prefix, name string) (string, error) {
	f, ok := s.files[name]
	if !ok {
		return "", fmt.Errorf("there is no static file %q", name)
	}
	return prefix + Path + "static/" + name + "?v=" + f.short, nil
}
