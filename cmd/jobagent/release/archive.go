package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name string // with slashes
	path string // of the file to read
	mode fs.FileMode
}

// writeTarGz writes an archive whose content depends on its arguments only.
func writeTarGz(path string, stamp time.Time, entries []entry) error {
	return create(path, func(w io.Writer) error {
		zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		archive := tar.NewWriter(zipped)
		for _, e := range entries {
			content, err := os.ReadFile(e.path)
			if err != nil {
				return err
			}
			if err := addFile(archive, e.name, stamp, e.mode, content); err != nil {
				return err
			}
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return zipped.Close()
	})
}

// addFile adds a file of root to an archive.
func addFile(archive *tar.Writer, name string, stamp time.Time, mode fs.FileMode, content []byte) error {
	header := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: int64(mode.Perm()), ModTime: stamp, Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

// writeZip is writeTarGz for the archives that Windows opens.
func writeZip(path string, stamp time.Time, entries []entry) error {
	return create(path, func(w io.Writer) error {
		archive := zip.NewWriter(w)
		for _, e := range entries {
			content, err := os.ReadFile(e.path)
			if err != nil {
				return err
			}
			header := zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: stamp}
			header.SetMode(e.mode)
			file, err := archive.CreateHeader(&header)
			if err != nil {
				return err
			}
			if _, err := file.Write(content); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// create creates a file and closes it.
func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
