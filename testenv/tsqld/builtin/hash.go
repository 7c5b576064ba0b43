package builtin

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"  // HASHBYTES offers it
	"crypto/sha1" // HASHBYTES offers it
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// hashFuncs compute digests and compress bytes. CHECKSUM and BINARY_CHECKSUM return CRC-32 values:
// equal for equal arguments, but not SQL Server's numbers, which are undocumented.
var hashFuncs = []*Func{
	pure("HASHBYTES", 2, 2, hashResult, evalHash),
	lenient("CHECKSUM", 1, Variadic, checksumResult, evalChecksum(true)),
	lenient("BINARY_CHECKSUM", 1, Variadic, checksumResult, evalChecksum(false)),
	long("COMPRESS", 1, 1, fixed(types.VarBinaryMax), evalCompress),
	long("DECOMPRESS", 1, 1, fixed(types.VarBinaryMax), evalDecompress),
}

// hashResult accepts texts and bytes.
func hashResult(args []types.Type, _ []types.Value) (types.Type, error) {
	if t := args[1]; !t.IsString() && !t.IsBinary() && t.ID != types.Null {
		return types.Type{}, mserr.InvalidArgumentType(t.Name(), 2, "hashbytes")
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
func evalHash(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
	name, err := text(args[0], ts[0])
	if err != nil {
		return nil, err
	}
	b, err := rawBytes(args[1], ts[1])
	if err != nil {
		return nil, err
	}
	switch strings.ToUpper(strings.TrimSpace(name)) {
	case "MD5":
		h := md5.Sum(b)
		return h[:], nil
	case "SHA", "SHA1":
		h := sha1.Sum(b)
		return h[:], nil
	case "SHA2_256":
		h := sha256.Sum256(b)
		return h[:], nil
	case "SHA2_512":
		h := sha512.Sum512(b)
		return h[:], nil
	case "MD2", "MD4":
		return nil, mserr.NotSupported("HASHBYTES with %s", strings.ToUpper(name))
	}
	return nil, nil
}

// checksumResult rejects types that cannot be compared.
func checksumResult(args []types.Type, _ []types.Value) (types.Type, error) {
	for i, t := range args {
		if !t.Comparable() && t.ID != types.Null {
			return types.Type{}, mserr.InvalidArgumentType(t.Name(), i+1, "checksum")
		}
	}
	return types.IntType, nil
}

// evalChecksum hashes the arguments. With byKey, texts that are equal in their collation have equal
// hashes.
func evalChecksum(byKey bool) evalFunc {
	return func(_ Env, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
		h := crc32.NewIEEE()
		for i, a := range args {
			switch {
			case a == nil:
				h.Write([]byte{0, 0xFF})
			case byKey:
				io.WriteString(h, types.Key(a, ts[i])) //nolint:errcheck // a hash does not fail
			default:
				if s, ok := a.(string); ok {
					io.WriteString(h, s) //nolint:errcheck // a hash does not fail
				} else {
					io.WriteString(h, types.Key(a, ts[i])) //nolint:errcheck // a hash does not fail
				}
			}
			h.Write([]byte{0})
		}
		return int64(int32(h.Sum32())), nil
	}
}

func evalCompress(m *meter.Meter, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
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
func evalDecompress(m *meter.Meter, ts []types.Type, _ types.Type, args []types.Value) (types.Value, error) {
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
