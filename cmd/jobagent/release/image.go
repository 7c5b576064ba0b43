package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageName is an image in the layout of the Open Container Initiative, as one file: podman load,
// docker load, and skopeo copy oci-archive:FILE take it.
const imageName = "jobagent_image.tar"

// user of the image, without rights. The number is that of distroless images.
const imageUser = "65532"

// Media types of the image specification, version 1.1
// (https://github.com/opencontainers/image-spec/blob/v1.1.0/media-types.md).
const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// platformImage is the binary of an image for an architecture.
type platformImage struct{ arch, binary string }

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// platform is where an image runs.
type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// imageIndex lists the images of an index.
type imageIndex struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// imageManifest is an image for one platform.
type imageManifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// imageConfig says how a container of an image is started.
type imageConfig struct {
	Created time.Time `json:"created"`
	platform
	Config struct {
		User       string            `json:"User"`
		Env        []string          `json:"Env"`
		Entrypoint []string          `json:"Entrypoint"`
		Cmd        []string          `json:"Cmd"`
		StopSignal string            `json:"StopSignal"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"` // digests of the layers before compression
	} `json:"rootfs"`
}

// blobs are the content of an image by digest, in the order in which they were added.
type blobs struct {
	digests []string
	content map[string][]byte
}

// add adds content once, and returns its descriptor.
func (b *blobs) add(mediaType string, content []byte) descriptor {
	digest := digestOf(content)
	if _, known := b.content[digest]; !known {
		b.digests = append(b.digests, digest)
		b.content[digest] = content
	}
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(content)}
}

func (b *blobs) addJSON(mediaType string, value any) (descriptor, error) {
	content, err := json.Marshal(value)
	return b.add(mediaType, content), err
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// writeImage writes an image for several architectures. A container of it has the binary, the
// certificates of public authorities, a user without rights, and a folder for temporary files;
// time zones are in the binary.
func writeImage(path string, src source, images []platformImage) error {
	all := &blobs{content: map[string][]byte{}}
	index := imageIndex{SchemaVersion: 2, MediaType: mediaIndex}
	system, err := systemLayer(src.Time)
	if err != nil {
		return err
	}
	for _, image := range images {
		manifest, err := addImage(all, src, image, system)
		if err != nil {
			return err
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	inner, err := all.addJSON(mediaIndex, index)
	if err != nil {
		return err
	}
	inner.Annotations = map[string]string{"org.opencontainers.image.ref.name": src.Version}
	outer, err := json.Marshal(imageIndex{SchemaVersion: 2, MediaType: mediaIndex, Manifests: []descriptor{inner}})
	if err != nil {
		return err
	}
	return create(path, func(w io.Writer) error {
		archive := tar.NewWriter(w)
		if err := addFile(archive, "oci-layout", src.Time, 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
			return err
		}
		if err := addFile(archive, "index.json", src.Time, 0o644, outer); err != nil {
			return err
		}
		for _, digest := range all.digests {
			if err := addFile(archive, "blobs/sha256/"+digest[len("sha256:"):], src.Time, 0o644, all.content[digest]); err != nil {
				return err
			}
		}
		return archive.Close()
	})
}

// addImage adds the blobs of an image for one architecture.
func addImage(all *blobs, src source, image platformImage, system []byte) (descriptor, error) {
	binary, err := os.ReadFile(image.binary)
	if err != nil {
		return descriptor{}, err
	}
	program, err := layer(func(archive *tar.Writer) error { return addFile(archive, "jobagent", src.Time, 0o755, binary) })
	if err != nil {
		return descriptor{}, err
	}
	config := imageConfig{Created: src.Time, platform: platform{Architecture: image.arch, OS: "linux"}}
	config.Config.User = imageUser + ":" + imageUser
	config.Config.Env = []string{"PATH=/", "JOBAGENT_CONFIG=/etc/jobagent/jobagent.json"}
	config.Config.Entrypoint = []string{"/jobagent"}
	config.Config.Cmd = []string{"run"}
	config.Config.StopSignal = "SIGTERM"
	config.Config.Labels = map[string]string{
		"org.opencontainers.image.title":    "jobagent",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.revision": src.Commit,
		"org.opencontainers.image.source":   "https://" + repository,
		"org.opencontainers.image.version":  src.Version,
	}
	config.RootFS.Type = "layers"
	manifest := imageManifest{SchemaVersion: 2, MediaType: mediaManifest}
	for _, content := range [][]byte{system, program} {
		compressed, err := compress(content)
		if err != nil {
			return descriptor{}, err
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, digestOf(content))
		manifest.Layers = append(manifest.Layers, all.add(mediaLayer, compressed))
	}
	if manifest.Config, err = all.addJSON(mediaConfig, config); err != nil {
		return descriptor{}, err
	}
	d, err := all.addJSON(mediaManifest, manifest)
	d.Platform = &config.platform
	return d, err
}

// systemLayer returns the layer of what is not the program.
func systemLayer(stamp time.Time) ([]byte, error) {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil { // a PEM file cannot say what the authority is trusted for
			continue
		}
		if err := pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return layer(func(archive *tar.Writer) error {
		for _, folder := range []struct {
			name string
			mode fs.FileMode
			raw  int64
		}{{"etc/", 0o755, 0}, {"etc/jobagent/", 0o755, 0}, {"etc/ssl/", 0o755, 0}, {"etc/ssl/certs/", 0o755, 0}, {"tmp/", 0o777, 0o1000}} {
			header := tar.Header{Typeflag: tar.TypeDir, Name: folder.name, Mode: int64(folder.mode) | folder.raw, ModTime: stamp, Format: tar.FormatUSTAR}
			if err := archive.WriteHeader(&header); err != nil {
				return err
			}
		}
		for _, file := range []struct{ name, content string }{
			{"etc/group", "root:x:0:\nnonroot:x:" + imageUser + ":\n"},
			{"etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:" + imageUser + ":" + imageUser + ":nonroot:/tmp:/sbin/nologin\n"},
			{"etc/ssl/certs/ca-certificates.crt", authorities.String()},
		} {
			if err := addFile(archive, file.name, stamp, 0o644, []byte(file.content)); err != nil {
				return err
			}
		}
		return nil
	})
}

// layer returns an archive without compression.
func layer(fill func(*tar.Writer) error) ([]byte, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	if err := fill(archive); err != nil {
		return nil, err
	}
	err := archive.Close()
	return content.Bytes(), err
}

// compress returns content in the format of gzip.
func compress(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
