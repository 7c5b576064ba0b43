package catalog

import (
	"os"
	"path/filepath"
)

// PageSize is the page size of SQL Server, the unit of file sizes, in bytes.
const PageSize = 8192

// File is a file of a database as shown in sys.database_files.
type File struct {
	Name  string
	Path  string
	Log   bool
	Pages int64 // size
}

// Files returns the two files of a database: the SQLite file with the given path and its
// write-ahead log.
func Files(d *Database, path string) [2]File {
	name, logName := d.Name, d.Name+"_log"
	switch d.ID {
	case DatabaseTemp:
		name, logName = "tempdev", "templog"
	case DatabaseMaster:
		logName = "mastlog"
	case DatabaseModel:
		name, logName = "modeldev", "modellog"
	case DatabaseMSDB:
		name, logName = "MSDBData", "MSDBLog"
	}
	if full, err := filepath.Abs(path); err == nil { // fails only if the working directory does not exist
		path = full
	}
	files := [2]File{{Name: name, Path: path}, {Name: logName, Path: path + "-wal", Log: true}}
	for i := range files {
		if info, err := os.Stat(files[i].Path); err == nil { // the log does not exist before the first change
			files[i].Pages = (info.Size() + PageSize - 1) / PageSize
		}
	}
	return files
}
