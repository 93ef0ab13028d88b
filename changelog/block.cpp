#include "changelog/block.h"
