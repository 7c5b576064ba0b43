// Package earlier installs the control schemas of earlier versions, as their programs did, for
// tests of migrations.
package earlier

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	sqlfs "github.com/jobagent/jobagent/sql"
)

const (
	// Release0 is the version of the first release, commit ca79178. Its agents have protocol 1.
	Release0 = 0
	// Version28 is the last version without incarnations, commit 5ba123d8. It supports agents of
	// [controldb.AgentProtocol] 4, so those of this release can work with it.
	Version28 = 28
)

// archives has a file for each version: the folder sql at its commit, reduced to install.txt and
// the files that it names.
//
//go:embed *.tar.gz
var archives embed.FS

// kinds are the kinds of code objects by their folders, as in the record of a deployment.
var kinds = map[string]sqlfs.Kind{"views": sqlfs.KindView, "procs": sqlfs.KindProcedure, "roles": sqlfs.KindRole}

// Install creates the schema of a version in an empty database, and records it.
func Install(ctx context.Context, db *sql.DB, version int) error {
	files, err := read(version)
	if err != nil {
		return fmt.Errorf("read the schema of version %d: %w", version, err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("install version %d: %w", version, err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	var code []map[string]string
	for line := range strings.Lines(files["install.txt"]) {
		file := strings.TrimSpace(line)
		if file == "" || strings.HasPrefix(file, "#") {
			continue
		}
		text := files[file]
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("install %s of version %d: %w", file, version, err)
		}
		if kind, ok := kinds[path.Dir(file)]; ok {
			sum := sha256.Sum256([]byte(text))
			code = append(code, map[string]string{
				"name": strings.TrimSuffix(path.Base(file), ".sql"), "kind": string(kind), "sha256": hex.EncodeToString(sum[:]),
			})
		}
	}
	objects, err := json.Marshal(code)
	if err != nil {
		return err
	}
	versions, err := recorded(version)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "jobs_internal.record_deployment", sql.Named("objects", string(objects)), sql.Named("migrations", versions))
	if err != nil {
		return fmt.Errorf("record version %d: %w", version, err)
	}
	return tx.Commit()
}

// read returns the files of a version by their names.
func read(version int) (map[string]string, error) {
	packed, err := archives.ReadFile(fmt.Sprintf("version%d.tar.gz", version))
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files[h.Name] = string(text)
	}
}

// recorded returns the argument @migrations of record_deployment: migrations never change, so those
// of this release are those of the version.
func recorded(version int) (string, error) {
	migrations, err := sqlfs.Migrations()
	if err != nil {
		return "", err
	}
	type row struct {
		Version int    `json:"version"`
		Name    string `json:"name"`
		SHA256  string `json:"sha256"`
	}
	list := []row{{0, "install", strings.Repeat("0", 64)}}
	for _, m := range migrations[:version] {
		list = append(list, row{m.Version, m.Name, m.SHA256})
	}
	text, err := json.Marshal(list)
	return string(text), err
}
