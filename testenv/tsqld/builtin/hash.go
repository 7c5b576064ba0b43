package builtin

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"  // HASHBYTES offers it
	"crypto/sha1" // HASHBYTES offers it
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin/convert"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// hashFuncs compute digests and compress bytes. CHECKSUM and BINARY_CHECKSUM return CRC-32 values:
// equal for equal arguments, but not SQL Server's numbers, which are undocumented.
var hashFuncs = []*Func{
	long("HASHBYTES", 2, 2, hashResult, evalHash),
	longLenient("CHECKSUM", 1, Variadic, checksumResult, evalChecksum(true)),
	longLenient("BINARY_CHECKSUM", 1, Variadic, checksumResult, evalChecksum(false)),
	long("COMPRESS", 1, 1, fixed(types.VarBinaryMax), evalCompress),
	long("DECOMPRESS", 1, 1, fixed(types.VarBinaryMax), evalDecompress),
}

// hashResult accepts texts and bytes.
func hashResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if t := args[1]; !t.IsString() && !t.IsBinary() && t.ID != types.Null {
		return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), 2, "hashbytes")
	}
	return types.VarBinaryOf(maxBytes), nil
}

// rawBytes returns CAST(v AS varbinary(max)).
func rawBytes(v types.Value, t types.Type) ([]byte, error) {
	r, err := types.Convert(v, t, types.VarBinaryMax, types.NoStyle)
	if err != nil {
		return nil, err
	}
	b, _ := r.([]byte)
	return b, nil
}

// evalHash returns NULL for an unknown algorithm. MD2 and MD4 are not supported.
func evalHash(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, err := convert.Text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	b, err := rawBytes(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	var h hash.Hash
	switch strings.ToUpper(strings.TrimSpace(name)) {
	case "MD5":
		h = md5.New()
	case "SHA", "SHA1":
		h = sha1.New()
	case "SHA2_256":
		h = sha256.New()
	case "SHA2_512":
		h = sha512.New()
	case "MD4":
		return nil, mserr.NotSupported("HASHBYTES with MD4")
	default:
		return nil, nil
	}
	for part := range slices.Chunk(b, chunk) {
		if err := m.Work(len(part)); err != nil {
			return nil, err
		}
		h.Write(part)
	}
	return h.Sum(nil), nil
}

// checksumResult rejects types that cannot be compared.
func checksumResult(args []types.Type, _ []types.Value) (types.Type, error) {
	for i, t := range args {
		if !t.Comparable() && t.ID != types.Null {
			return types.Type{}, mserr.InvalidArgumentType(t.MessageName(), i+1, "checksum")
		}
	}
	return types.IntType, nil
}

// evalChecksum hashes the arguments. With byKey, texts that are equal in their collation have equal
// hashes.
func evalChecksum(byKey bool) longEval {
	return func(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		h := hashWriter{crc32.NewIEEE(), m}
		for i, a := range args {
			s, isText := a.(string)
			var err error
			switch {
			case a == nil:
				h.Hash32.Write([]byte{0, 0xFF})
			case isText && !byKey:
				for ; len(s) > 0 && err == nil; s = s[min(len(s), chunk):] {
					_, err = io.WriteString(h, s[:min(len(s), chunk)])
				}
			default:
				err = types.WriteKey(h, a, ts[i])
			}
			if err != nil {
				return nil, err
			}
			h.Hash32.Write([]byte{0})
		}
		return int64(int32(h.Sum32())), nil
	}
}

// hashWriter is a hash that asks a meter whether to go on.
type hashWriter struct {
	hash.Hash32
	m *meter.Meter
}

// Write implements [io.Writer].
func (c hashWriter) Write(p []byte) (int, error) {
	if err := c.m.Work(keyWork * len(p)); err != nil {
		return 0, err
	}
	return c.Hash32.Write(p)
}

// keyWork is the cost of making and hashing a byte of a key, in steps of [meter.Meter.Work].
const keyWork = 4

func evalCompress(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	b, err := rawBytes(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	for part := range slices.Chunk(b, chunk) {
		if err := takeChunk(m, &out); err != nil {
			return nil, err
		}
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// evalDecompress returns NULL for bytes that are not gzip.
func evalDecompress(m *meter.Meter, _ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	b, err := rawBytes(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, nil
	}
	var out bytes.Buffer
	for {
		if err := takeChunk(m, &out); err != nil {
			return nil, err
		}
		switch _, err := io.CopyN(&out, r, chunk); {
		case errors.Is(err, io.EOF):
			return out.Bytes(), nil
		case err != nil:
			return nil, nil
		}
	}
}

// chunk is how many bytes are compressed or decompressed at a time.
const chunk = 64 << 10

// takeChunk checks that a buffer may grow by a chunk and that the request continues.
func takeChunk(m *meter.Meter, b *bytes.Buffer) error {
	if err := m.Err(); err != nil {
		return err
	}
	if b.Available() >= chunk {
		return nil
	}
	grow := max(b.Len(), chunk)
	if err := m.Take(b.Cap() + grow); err != nil {
		return err
	}
	b.Grow(grow)
	return nil
}
