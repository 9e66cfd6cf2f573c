import os

# Tests run side by side, and their matrices are small: threads of BLAS and torch would
# wait for each other's cores, and everything takes twice as long. rhokit starts as many
# workers as BLAS has threads, so tests of several workers say how many. The variables
# are read when NumPy and torch are first imported, after this.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
