package runs

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// writeJSON writes JSON that is compressed by gzip, to clients that cannot read that as it was
// before.
func writeJSON(w http.ResponseWriter, r *http.Request, compressed []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(compressed) // the client may have gone
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		panic(err) // compress has made it
	}
	_, _ = io.Copy(w, z) //nolint:gosec // the text is ours
}
