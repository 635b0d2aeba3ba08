# SPDX-License-Identifier: MIT

import subprocess

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    def __init__(self, folder, name="authority"):
        folder.mkdir()
        self.folder, self.certificate = folder, folder / "ca.pem"
        openssl("req", "-x509", *EC, "-subj", f"/CN={name}", "-days", 2, "-keyout", folder / "ca.key", "-out", self.certificate)

    def client(self, subject, days=2, usage="clientAuth"):
        """Returns the curl options for a client certificate with the subject, such as `/CN=proxy.example.com`."""
        stem = self.folder / str(len(list(self.folder.iterdir())))
        key, request, certificate, extensions = (stem.with_suffix(end) for end in (".key", ".csr", ".pem", ".ext"))
        extensions.write_text(f"extendedKeyUsage={usage}\nsubjectAltName=DNS:other.example.com\n")
        openssl("req", *EC, "-subj", subject, "-keyout", key, "-out", request)
        signer = ["-CA", self.certificate, "-CAkey", self.folder / "ca.key", "-CAcreateserial"]
        openssl("x509", "-req", "-in", request, *signer, "-days", days, "-extfile", extensions, "-out", certificate)
        return ["--cert", certificate, "--key", key]
